// SPDX-License-Identifier: Apache-2.0
// Registers a host for one registry's implementations in Python files.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/support/registry.hh"
#include "trainer/python/extension/python_call.hh"

namespace thinpipe::trainer::python {

// base: the class of the package thinpipe that implementations extend; null: any function or class.
// describe: returns the JSON text of an implementation's options; called with the interpreter's lock.
// make: (implementation, its options' description, the given options, arguments…) -> the made object.
template <class Interface, class... Arguments>
void host_scripts(const char* base, auto describe, auto make) {
  using ThisRegistry = Registry<Interface, Arguments...>;
  using Entry = typename ThisRegistry::Entry;
  const auto find = [base, describe, make](const ScriptName& name) {
    return in_interpreter([&] {
      const py::module_ scripts = py::module_::import("thinpipe.scripts");
      const py::object base_class =
          base == nullptr ? py::object(py::none()) : py::module_::import("thinpipe").attr(base);
      const py::object found = scripts.attr("find")(name.file.string(), name.object, base_class);
      const Json description = Json::parse(describe(found));
      const auto shared = std::make_shared<SharedObject>(found);
      return Entry{.summary = scripts.attr("summary")(found).template cast<std::string>(),
                   .options = description,
                   .make = [shared, description, make](JsonObject& object, Arguments... arguments) {
                     return std::unique_ptr<Interface>(make(shared, description, object, arguments...));
                   }};
    });
  };
  ThisRegistry::instance().set_script_host(
      [find](const ScriptName& name, const Place& place) -> const Entry& {
        static std::mutex one_at_a_time;  // workers may be threads
        // Never destroyed, because at the end of the process there is no interpreter that could free its objects.
        static auto& known = *new std::map<std::string, Entry>();
        const std::lock_guard lock(one_at_a_time);
        const auto entry = known.find(name.text());
        if (entry != known.end()) return entry->second;
        try {
          return known.emplace(name.text(), find(name)).first->second;
        } catch (const ScriptError& error) {
          throw InputError(place, error.what());
        }
      });
}

}  // namespace thinpipe::trainer::python
