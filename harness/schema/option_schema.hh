// SPDX-License-Identifier: Apache-2.0
// JSON Schemas (draft 7) of options that describe_options describes (common/support/options.hh).
#pragma once

#include "common/support/json_object.hh"

namespace thinpipe {

// Where a value stands. Members of a configuration are merged from layers: null restores a default, and
// required members may come from another layer. Elements of a list must be complete.
enum class Standing { member, element };

// Returns the patterns of members that any object may have: comments, and "$schema" for editors.
OrderedJson comments();

// Returns a reference to a definition, given its name or a pointer from the definitions to a schema.
OrderedJson definition_reference(const std::string& definition);

// Returns the schema of a described field's value. For a registry it refers to the definition of that name.
OrderedJson field_schema(const Json& field, Standing standing = Standing::member);

// Returns {"properties": …} for the described fields and no others, without a type, so that null can be
// allowed, too.
OrderedJson object_schema(const Json& fields, Standing standing = Standing::member);

// Adds the definitions of a registry to `definitions`. A value of the registry is an object whose member
// `selector` names an entry and which has that entry's options; `entries` are {name: {"summary", "options"}}.
void define_registry(OrderedJson& definitions, const std::string& registry, const std::string& selector,
                     const Json& entries);

// Returns the name of the definition of objects that do not name their entry.
std::string unnamed_definition(const std::string& registry);

}  // namespace thinpipe
