// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "trainer/python/extension/bindings.hh"
#include "trainer/synchronisers/messages.hh"

namespace thinpipe::trainer::python {
namespace {

// Collective calls wait for other workers, which may be threads of this process that need the interpreter.
using Released = py::call_guard<py::gil_scoped_release>;

Reduction reduction_named(const std::string& name) {
  if (name == "sum") return Reduction::sum;
  if (name == "max") return Reduction::max;
  throw py::value_error(fmt::format("the reduction must be \"sum\" or \"max\", but is \"{}\"", name));
}

// Returns the tensor as one dimension without copying: calls work in place.
torch::Tensor flat(const torch::Tensor& tensor) {
  if (!tensor.is_contiguous()) throw py::value_error("the tensor must be contiguous; call .contiguous()");
  return tensor.view({-1});
}

void all_reduce(const Network& self, const torch::Tensor& tensor, const std::string& reduction) {
  self.collective().all_reduce(flat(tensor), reduction_named(reduction));
}

void all_reduce_quantised(const Network& self, const torch::Tensor& codes, int largest) {
  self.collective().all_reduce_quantised(flat(codes), largest, {});
}

torch::Tensor all_gather(const Network& self, const torch::Tensor& input) {
  Collective& collective = self.collective();
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(collective.world_size()), input.numel());
  std::vector<std::int64_t> shape = input.sizes().vec();
  shape.insert(shape.begin(), collective.world_size());
  return collective.all_gather_v(flat(input.contiguous()), counts).view(shape);
}

torch::Tensor all_gather_v(const Network& self, const torch::Tensor& input,
                           const std::vector<std::int64_t>& counts) {
  return self.collective().all_gather_v(flat(input.contiguous()), counts);
}

std::vector<torch::Tensor> all_gather_any(const Network& self, const torch::Tensor& input) {
  const torch::Tensor bytes = flat(input.contiguous()).view(torch::kUInt8);
  std::vector<torch::Tensor> out;
  for (const torch::Tensor& message : gather_any(bytes, self.collective())) {
    // A message may begin anywhere in the memory of all messages, so that it must be copied to be aligned.
    out.push_back(message.clone().view(input.scalar_type()));
  }
  return out;
}

torch::Tensor all_to_all_v(const Network& self, const torch::Tensor& input,
                           const std::vector<std::int64_t>& send_counts,
                           const std::vector<std::int64_t>& receive_counts) {
  return self.collective().all_to_all_v(flat(input.contiguous()), send_counts, receive_counts);
}

void broadcast(const Network& self, const torch::Tensor& tensor, int root) {
  self.collective().broadcast(flat(tensor), root);
}

}  // namespace

Collective& Network::collective() const {
  if (collective_ == nullptr) {
    throw Error("net is valid only during synchronise(): use the one that is passed to each call");
  }
  return *collective_;
}

void bind_network(py::module_& module) {
  py::class_<Network, std::shared_ptr<Network>>(
      module, "Network",
      "Collective calls among the workers, which all make the same calls in the same order.")
      .def_property_readonly("rank", [](const Network& self) { return self.collective().rank(); })
      .def_property_readonly("world_size", [](const Network& self) { return self.collective().world_size(); })
      .def("all_reduce", all_reduce, Released(), py::arg("tensor"), py::arg("reduction") = "sum",
           "Reduces in place: float32, float16, bfloat16, int8, int32 or int64.")
      .def(
          "all_reduce_quantised", all_reduce_quantised, Released(), py::arg("codes"), py::arg("largest"),
          "Sums int8 codes in place. largest: bound on a code's magnitude; workers x largest must be at most 127.")
      .def("all_gather", all_gather, Released(), py::arg("input"),
           "Returns every worker's tensor, stacked by rank: [world_size, ...]. All have the same size.")
      .def(
          "all_gather_v", all_gather_v, Released(), py::arg("input"), py::arg("counts"),
          "Returns the concatenation of every worker's entries. counts: their numbers, the same on every worker.")
      .def(
          "all_gather_any", all_gather_any, Released(), py::arg("input"),
          "Returns the list of every worker's tensor, of any size each; the sizes are sent first, 4 bytes each.")
      .def(
          "all_to_all_v", all_to_all_v, Released(), py::arg("input"), py::arg("send_counts"),
          py::arg("receive_counts"),
          "Sends the first send_counts[0] entries to worker 0, and so on; returns those received from worker 0, and so "
          "on.")
      .def("broadcast", broadcast, Released(), py::arg("tensor"), py::arg("root"),
           "Sets every worker's tensor to the root's, in place.")
      .def(
          "barrier", [](const Network& self) { self.collective().barrier(); }, Released());
}

}  // namespace thinpipe::trainer::python
