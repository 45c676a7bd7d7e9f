// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "trainer/datasets/dataset.hh"
#include "trainer/python/extension/bindings.hh"
#include "trainer/synchronisers/observation.hh"

namespace thinpipe::trainer::python {
namespace {

std::vector<NamedSlice> slices_of(const NamedBucket& self) {
  std::vector<NamedSlice> slices;
  for (const Slice& slice : self.bucket.slices) slices.push_back({slice, self.parameters});
  return slices;
}

void set_gradient(NamedBucket& self, const torch::Tensor& gradient) {
  if (gradient.scalar_type() != torch::kFloat || gradient.dim() != 1 ||
      gradient.size(0) != self.bucket.size) {
    throw py::value_error(
        fmt::format("bucket.gradient must be a float32 tensor with {} entries", self.bucket.size));
  }
  self.bucket.gradient = gradient;
}

}  // namespace

void bind_buckets(py::module_& module) {
  py::class_<ParameterInfo>(module, "Parameter")
      .def_readonly("name", &ParameterInfo::name)
      .def_readonly("size", &ParameterInfo::size)
      .def_readonly("shape", &ParameterInfo::shape)
      .def("__repr__", [](const ParameterInfo& self) {
        return fmt::format("<Parameter {} of {} entries>", self.name, self.size);
      });
  py::class_<NamedSlice>(module, "Slice", "The place of one parameter in a bucket.")
      .def_property_readonly("name", [](const NamedSlice& self) { return self.parameter().name; })
      .def_property_readonly("shape", [](const NamedSlice& self) { return self.parameter().shape; })
      .def_property_readonly("parameter", [](const NamedSlice& self) { return self.slice.parameter; })
      .def_property_readonly("offset", [](const NamedSlice& self) { return self.slice.offset; })
      .def_property_readonly("size", [](const NamedSlice& self) { return self.slice.size; });
  py::class_<NamedBucket, std::shared_ptr<NamedBucket>>(
      module, "Bucket", "A flat part of the gradient, and the parameters that it consists of.")
      .def_property_readonly("index", [](const NamedBucket& self) { return self.bucket.index; })
      .def_property_readonly("size", [](const NamedBucket& self) { return self.bucket.size; })
      .def_property_readonly("slices", slices_of)
      .def_property(
          "gradient", [](const NamedBucket& self) { return self.bucket.gradient; }, set_gradient);
  py::class_<Observation>(module, "Observation", "What a step's exchange took, the same on every worker.")
      .def_readonly("sent_bytes", &Observation::sent_bytes)
      .def_readonly("exchange_s", &Observation::exchange_s)
      .def_readonly("compute_s", &Observation::compute_s);
  py::class_<Context>(module, "Context", "What a method is told at its start.")
      .def_property_readonly("parameters", [](const Context& self) { return *self.parameters; })
      .def_property_readonly("weights", [](const Context& self) { return self.context.weights; })
      .def_property_readonly("kept",
                             [](const Context& self) {
                               std::vector<std::optional<torch::Tensor>> kept;
                               for (const torch::Tensor& mask : self.context.kept)
                                 kept.push_back(mask.defined() ? std::optional(mask) : std::nullopt);
                               return kept;
                             })
      .def_property_readonly("weight_decay", [](const Context& self) { return self.context.weight_decay; })
      .def_property_readonly("seed", [](const Context& self) { return self.context.seed; })
      .def_property_readonly("workers", [](const Context& self) { return self.context.network.workers; });
}

void bind_shape(py::module_& module) {
  py::class_<DataShape>(module, "DataShape", "The shape that a model must fit.")
      .def_readonly("channels", &DataShape::channels)
      .def_readonly("height", &DataShape::height)
      .def_readonly("width", &DataShape::width)
      .def_readonly("features", &DataShape::features)
      .def_readonly("classes", &DataShape::classes)
      .def_readonly("vocabulary", &DataShape::vocabulary)
      .def_readonly("sequence_length", &DataShape::sequence_length)
      .def_property_readonly("is_text", &DataShape::is_text);
}

}  // namespace thinpipe::trainer::python
