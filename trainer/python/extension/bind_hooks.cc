// SPDX-License-Identifier: Apache-2.0
#include <spdlog/spdlog.h>

#include "common/support/log.hh"
#include "trainer/python/extension/bindings.hh"
#include "trainer/python/extension/python_call.hh"
#include "trainer/python/extension/script_options.hh"

namespace thinpipe::trainer::python {
namespace {

// Returns the options of a hook, with defaults. hook: {"name": "mine.py:hook", options…}. Throws InputError below
// `place` for a file or function that cannot be used, and for a wrong option.
Json read_hook(const Json& hook, const Place& place) {
  JsonObject object(hook, place);
  std::string name;
  object.read("name", name, {.required = true});
  try {
    const Json description = in_interpreter([&] {
      return Json::parse(py::module_::import("thinpipe.hooks").attr("describe")(name).cast<std::string>());
    });
    Json options = read_described(object, description);
    object.finish();
    return options;
  } catch (const ScriptError& error) {
    throw InputError(object.place_of("name"), error.what());
  }
}

// Answers with one line of JSON: {"ok": true}, or the place below the hook and the message.
std::string check_hook(const std::string& text) {
  spdlog::set_default_logger(
      make_log_to_standard_error("info"));  // standard output is reserved for the answer
  try {
    read_hook(parse_json(text, "standard input"), {});
    return Json{{"ok", true}}.dump();
  } catch (const InputError& error) {
    const Json answer = {{"ok", false}, {"pointer", error.place().pointer}, {"message", error.message()}};
    return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

}  // namespace

void bind_hooks(py::module_& module) {
  module.def(
      "read_hook",
      [](const std::string& hook) {
        return read_hook(Json::parse(hook), {"trainer", "/hook"}).dump();
      },
      py::arg("hook"), "Returns a hook's options as JSON text, with defaults. Raises InputError.");
  module.def("check_hook", check_hook, py::arg("text"),
             "Answers `thinpipe-trainer check-hook`: whether a hook can be used.");
}

}  // namespace thinpipe::trainer::python
