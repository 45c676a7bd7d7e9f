// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/element_type.hh"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace thinpipe::trainer {
namespace {

constexpr std::array<std::pair<ElementType, torch::ScalarType>, 9> both = {
    {{ElementType::float32, torch::kFloat32},
     {ElementType::float64, torch::kFloat64},
     {ElementType::float16, torch::kFloat16},
     {ElementType::bfloat16, torch::kBFloat16},
     {ElementType::int8, torch::kInt8},
     {ElementType::uint8, torch::kUInt8},
     {ElementType::int32, torch::kInt32},
     {ElementType::int64, torch::kInt64},
     {ElementType::boolean, torch::kBool}}};

}  // namespace

ElementType element_type_of(const torch::Tensor& tensor) {
  const auto* const found =
      std::ranges::find(both, tensor.scalar_type(), [](const auto& pair) { return pair.second; });
  if (found == both.end()) {
    throw Error(std::string("communication traces do not support elements of type ") +
                toString(tensor.scalar_type()));
  }
  return found->first;
}

torch::ScalarType scalar_type_of(ElementType type) {
  return std::ranges::find(both, type, [](const auto& pair) { return pair.first; })->second;
}

}  // namespace thinpipe::trainer
