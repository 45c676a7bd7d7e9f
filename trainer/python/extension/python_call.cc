// SPDX-License-Identifier: Apache-2.0
#include "trainer/python/extension/python_call.hh"

#include <spdlog/spdlog.h>

#include "trainer/collectives/collective_error.hh"

namespace thinpipe::trainer::python {

void rethrow(py::error_already_set& error) {
  // Python sets it only when its own code catches the exception.
  if (error.trace()) PyException_SetTraceback(error.value().ptr(), error.trace().ptr());
  const auto explained = py::module_::import("thinpipe.scripts")
                             .attr("explain")(error.value())
                             .cast<std::pair<std::string, std::string>>();
  if (error.matches(py::module_::import("thinpipe._core").attr("CollectiveError"))) {
    throw CollectiveError(py::str(error.value()).cast<std::string>());
  }
  // Workers may be threads that all fail in the same line.
  static std::string last_logged;  // guarded by the interpreter's lock
  if (!explained.second.empty() && explained.second != last_logged) spdlog::error("{}", explained.second);
  last_logged = explained.second;
  if (error.matches(PyExc_FileNotFoundError) || error.matches(PyExc_ModuleNotFoundError))
    throw ScriptLacks(explained.first);
  throw ScriptError(explained.first);
}

}  // namespace thinpipe::trainer::python
