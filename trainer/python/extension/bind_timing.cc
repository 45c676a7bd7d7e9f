#include <fmt/format.h>

#include "trainer/base/process.hh"
#include "trainer/collectives/echoing_peers.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/python/extension/bindings.hh"

namespace thinpipe::trainer::python {
namespace {

// Times one worker's steps with one bucket of `entries`, beside workers that send the same.
std::vector<Section> time_steps(const std::string& synchroniser, std::int64_t entries, int workers,
                                int steps) {
  keep_freed_memory();
  at::set_num_threads(1);
  const ParameterInfo parameter{.name = "weight", .size = entries, .dimensions = 2, .shape = {1, entries}};
  Bucket bucket{.size = entries, .slices = {{.parameter = 0, .offset = 0, .size = entries}}};
  const auto method = SynchroniserRegistry::instance().make(Json::parse(synchroniser), {"synchroniser", ""},
                                                            SynchroniserContext{.parameters = {parameter}, .kept = {{}}, .weights = {}});
  method->prepare({bucket});
  MeteredCollective metered(std::make_unique<EchoingPeers>(workers));
  std::vector<Section> out;
  for (int step = 1; step <= steps; ++step) {
    bucket.gradient = torch::randn({entries});
    method->set_learning_rate(0.1);
    method->begin_step(static_cast<std::uint64_t>(step));
    metered.begin_section();
    method->synchronise(bucket, metered);
    out.push_back(metered.end_section());
    method->finish_step(true);
  }
  return out;
}

}  // namespace

void bind_timing(py::module_& module) {
  py::class_<Section>(module, "Timing", "The times of one step, as in iterations.jsonl.")
      .def_readonly("encode_s", &Section::encode_s)
      .def_readonly("exchange_s", &Section::exchange_s)
      .def_readonly("decode_s", &Section::decode_s)
      .def_readonly("encode_cpu_s", &Section::encode_cpu_s);
  module.def("time_steps", time_steps, py::call_guard<py::gil_scoped_release>(), py::arg("synchroniser"),
             py::arg("entries"), py::arg("workers"), py::arg("steps"),
             "Returns the times of a method's first steps, alone on the CPU. synchroniser: its JSON text.");
}

}  // namespace thinpipe::trainer::python
