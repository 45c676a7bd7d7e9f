// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "trainer/python/extension/bindings.hh"
#include "trainer/synchronisers/sparse/top_k.hh"

namespace thinpipe::trainer::python {
namespace {

torch::Tensor top_k(const torch::Tensor& values, std::int64_t k) {
  if (values.scalar_type() != torch::kFloat || !values.is_contiguous() || !values.is_cpu()) {
    throw py::value_error("top_k() needs a contiguous float32 tensor in main memory");
  }
  if (k < 0 || k > values.numel()) {
    throw py::value_error(
        fmt::format("top_k(): k must be from 0 to the number of values, {}, but is {}", values.numel(), k));
  }
  const std::span numbers(values.data_ptr<float>(), static_cast<std::size_t>(values.numel()));
  const std::vector<std::uint32_t> chosen = top_k_indices(numbers, static_cast<std::size_t>(k));
  torch::Tensor indices = torch::empty({k}, torch::kInt64);
  std::ranges::copy(chosen, indices.data_ptr<std::int64_t>());
  return indices;
}

}  // namespace

void bind_selection(py::module_& module) {
  module.def(
      "top_k", top_k, py::call_guard<py::gil_scoped_release>(), py::arg("values"), py::arg("k"),
      "Returns the indices, int64 and ascending, of the k values of largest magnitude, as the method topk "
      "chooses them. Of equal magnitudes, those with lower indices come first; NaN counts as largest.");
}

}  // namespace thinpipe::trainer::python
