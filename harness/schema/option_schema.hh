// JSON Schemas (draft 7) of options as describe_options describes them (common/support/options.hh).
#pragma once

#include "common/support/json_object.hh"

namespace thinpipe {

// Where a value stands. Members of a configuration are merged from several layers: null sets one back to its
// default, and what is required may come from another layer. Elements of a list are as they are written.
enum class Standing { member, element };

// What an object may always have: comments, and "$schema" for editors.
OrderedJson comments();

// A schema that is one of the definitions: the name of one, or a pointer from the definitions to a schema.
OrderedJson definition_reference(const std::string& definition);

// The schema of the value of one described field. Registries are referred to as definitions of their name.
OrderedJson field_schema(const Json& field, Standing standing = Standing::member);

// {"properties": …} and no others, for described fields; nothing of the type, so that null may stand beside.
OrderedJson object_schema(const Json& fields, Standing standing = Standing::member);

// Adds the definitions of a registry to `definitions`: `registry` is an object that names an entry by its
// member `selector` and has that entry's options; `entries` are {name: {"summary", "options"}}.
void define_registry(OrderedJson& definitions, const std::string& registry, const std::string& selector,
                     const Json& entries);

// The name of the definition of objects that do not say which entry they mean.
std::string unnamed_definition(const std::string& registry);

}  // namespace thinpipe
