// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "trainer/python/extension/bindings.hh"
#include "trainer/synchronisers/residual.hh"

namespace thinpipe::trainer::python {
namespace {

std::vector<torch::Tensor> masks_of(const std::vector<std::optional<torch::Tensor>>& kept) {
  std::vector<torch::Tensor> masks;
  for (const auto& mask : kept) masks.push_back(mask.value_or(torch::Tensor()));
  return masks;
}

TensorMap state_dict(const StagedState& self) {
  TensorMap state;
  self.save(state, "");
  return state;
}

}  // namespace

void bind_state(py::module_& module) {
  py::class_<StagedState, std::shared_ptr<StagedState>>(
      module, "State",
      "One number per weight, zero at first. A step stages its changes; they take effect if it is applied.")
      .def(
          py::init([](const Context& context) { return std::make_shared<StagedState>(*context.parameters); }),
          py::arg("context"))
      .def(
          "of",
          [](const StagedState& self, std::size_t parameter) {
            if (parameter >= self.size()) {
              throw py::index_error(
                  fmt::format("there is no parameter {}: there are {}", parameter, self.size()));
            }
            return self.of(parameter);
          },
          py::arg("parameter"), "Returns the state of a parameter, float32 [size].")
      .def(
          "in_bucket",
          [](const StagedState& self, const NamedBucket& bucket) {
            std::vector<torch::Tensor> parts;
            for (const Slice& slice : bucket.bucket.slices) parts.push_back(self.of(slice.parameter));
            return parts.empty() ? torch::zeros({0}) : torch::cat(parts);
          },
          py::arg("bucket"), "Returns a copy of the state of a bucket's parameters, float32 [bucket.size].")
      .def(
          "stage",
          [](StagedState& self, const NamedBucket& bucket, const torch::Tensor& values) {
            self.stage(bucket.bucket, values);
          },
          py::arg("bucket"), py::arg("values"), "Stages a copy of values, float32 [bucket.size].")
      .def("commit", &StagedState::commit)
      .def("discard", &StagedState::discard)
      .def("drop_pruned",
           [](StagedState& self, const std::vector<std::optional<torch::Tensor>>& kept) {
             if (kept.size() != self.size()) {
               throw py::value_error(
                   fmt::format("needs one mask for each of {} parameters, not {}", self.size(), kept.size()));
             }
             self.drop_pruned(masks_of(kept));
           })
      .def("state_dict", state_dict)
      .def("load_state_dict", [](StagedState& self, const TensorMap& state) { self.load(state, ""); });
  py::class_<Residual, StagedState, std::shared_ptr<Residual>>(
      module, "Residual", "The State of error feedback: the part of the gradient that has not been sent.")
      .def(py::init([](const Context& context) { return std::make_shared<Residual>(*context.parameters); }),
           py::arg("context"))
      .def(
          "add_to", [](const Residual& self, NamedBucket& bucket) { self.add_to(bucket.bucket); },
          py::arg("bucket"), "Adds the residual to bucket.gradient.");
}

}  // namespace thinpipe::trainer::python
