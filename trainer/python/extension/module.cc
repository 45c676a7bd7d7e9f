// SPDX-License-Identifier: Apache-2.0
// thinpipe._core: the trainer inside Python.
#include <torch/extension.h>

#include "trainer/collectives/collective_error.hh"
#include "trainer/commands/command_line.hh"
#include "trainer/commands/python_host.hh"
#include "trainer/python/extension/bindings.hh"
#include "trainer/python/extension/python_call.hh"
#include "trainer/python/extension/python_dataset.hh"
#include "trainer/python/extension/python_model.hh"
#include "trainer/python/extension/python_synchroniser.hh"

namespace thinpipe::trainer::python {
namespace {

int run(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return run_command_line(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace

// NOLINTNEXTLINE(misc-use-anonymous-namespace): the macro defines a function with external linkage
PYBIND11_MODULE(_core, module) {
  be_python_host(PY_VERSION);
  py::register_exception<CollectiveError>(module, "CollectiveError", PyExc_RuntimeError);
  py::register_exception<ScriptError>(module, "ScriptError", PyExc_RuntimeError);
  bind_buckets(module);
  bind_network(module);
  bind_selection(module);
  bind_state(module);
  bind_shape(module);
  bind_ddp(module);
  bind_hooks(module);
  bind_training(module);
  host_synchronisers();
  host_models();
  host_datasets();
  // Threads of the trainer call Python.
  module.def("run_command_line", run, py::call_guard<py::gil_scoped_release>(), py::arg("words"),
             "Runs a command line of thinpipe-trainer and returns its exit code.");
}

}  // namespace thinpipe::trainer::python
