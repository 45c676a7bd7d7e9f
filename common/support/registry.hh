// SPDX-License-Identifier: Apache-2.0
// A table of named factories. An implementation registers itself from its own file (registration.hh):
//
//   THINPIPE_REGISTER(Synchroniser){"topk", "keeps the largest entries ...", describe_options<TopKOptions>(),
//                                   [](JsonObject& options, const SynchroniserContext& context) { ... }};
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/support/json_object.hh"
#include "common/support/options.hh"
#include "common/support/registration.hh"

namespace thinpipe {

// The name of an implementation in a Python file, such as "my_method.py:MyTopK".
struct ScriptName {
  std::filesystem::path file;
  std::string object;  // the class or function in that file

  std::string text() const { return file.string() + ":" + object; }
};

// Returns nullopt if the name is not FILE.py:OBJECT.
std::optional<ScriptName> parse_script_name(std::string_view name);

// Returns whether a member "name" of the configuration, at any depth, is the name of an implementation in a
// Python file.
bool names_script(const Json& config);

// Throws InputError with the nearest of the known names.
[[noreturn]] void refuse_unknown_name(const std::string& name, const std::vector<std::string>& known,
                                      const Place& place);

template <class Interface, class... Arguments>
class Registry {
 public:
  struct Entry {
    std::string summary;  // one line for `thinpipe list`
    Json options;         // from describe_options
    // Reads the options from the object and constructs the implementation.
    std::function<std::unique_ptr<Interface>(JsonObject& options, Arguments... arguments)> make;
  };

  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  void add(const std::string& name, Entry entry) {
    if (!entries_.emplace(name, std::move(entry)).second) {
      throw Error("two implementations are registered under the name " + name);
    }
  }

  const std::map<std::string, Entry>& entries() const { return entries_; }

  // Finds the implementations with names such as "my_method.py:MyTopK". Returned entries stay valid.
  using ScriptHost = std::function<const Entry&(const ScriptName& name, const Place& place)>;
  void set_script_host(ScriptHost host) { script_host_ = std::move(host); }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, unused] : entries_) out.push_back(name);
    return out;
  }

  // Throws InputError with the nearest valid name.
  const Entry& find(const std::string& name, const Place& place) const {
    const auto entry = entries_.find(name);
    if (entry != entries_.end()) return entry->second;
    if (const auto script = parse_script_name(name)) return find_in_script(*script, place);
    refuse_unknown_name(name, names(), place);
  }

  // Constructs the implementation that {"name": …, options…} describes. Throws InputError, with the nearest
  // valid name, for a wrong name or option.
  std::unique_ptr<Interface> make(const Json& value, const Place& place, Arguments... arguments) const {
    JsonObject object(value, place);
    std::string name;
    object.read("name", name, {.required = true});
    std::unique_ptr<Interface> made = find(name, object.place_of("name")).make(object, arguments...);
    object.finish();
    return made;
  }

  // Returns {"name": …, options…} with absent options set to their defaults.
  Json with_defaults(const Json& value, const Place& place) const {
    JsonObject object(value, place);
    std::string name;
    object.read("name", name, {.required = true});
    const Json& options = find(name, object.place_of("name")).options;
    Json filled = fill_defaults(value, options);
    for (const Json& option : options) {
      const std::string key = option["key"];
      if (option.value("type", "") != "implementation" || !filled.contains(key)) continue;
      filled[key] = with_defaults(filled[key], object.place_of(key));
    }
    return filled;
  }

 private:
  const Entry& find_in_script(const ScriptName& script, const Place& place) const {
    if (!script_host_) {
      throw InputError(place, "names a class or function in a Python file, which works only in Python");
    }
    return script_host_(script, place);
  }

  std::map<std::string, Entry> entries_;
  ScriptHost script_host_;
};

// Registers an implementation at static initialisation.
template <class Interface, class... Arguments>
struct Registration {
  Registration(const std::string& name, std::string summary, Json options,
               std::function<std::unique_ptr<Interface>(JsonObject&, Arguments...)> make) {
    Registry<Interface, Arguments...>::instance().add(
        name, {std::move(summary), std::move(options), std::move(make)});
  }
};

}  // namespace thinpipe
