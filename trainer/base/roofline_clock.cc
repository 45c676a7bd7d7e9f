// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/roofline_clock.hh"

#include <algorithm>
#include <map>

#include <ATen/record_function.h>

namespace thinpipe::trainer {
namespace {

thread_local RooflineClock* clock_of_thread = nullptr;

using Values = std::vector<torch::IValue>;

double size_of(const torch::IValue& value) {
  return static_cast<double>(value.toTensor().numel());
}

double product(const torch::IValue& left, const torch::IValue& right) {
  const torch::Tensor& matrix = right.toTensor();
  return 2 * size_of(left) * static_cast<double>(matrix.size(-1));
}

// Returns the number of multiplications and additions per element of the output.
double per_output(const torch::IValue& weight) {
  return 2 * size_of(weight) / static_cast<double>(weight.toTensor().size(0));
}

double backward_of_convolution(const Values& inputs, const Values& /*outputs*/) {
  // (gradient, input, weight, …, output_mask); the mask's first two elements are for the input's and the
  // weight's gradient.
  const auto mask = inputs.back().toBoolList();
  const double passes = (mask.get(0) ? 1 : 0) + (mask.get(1) ? 1 : 0);
  return passes * size_of(inputs[0]) * per_output(inputs[2]);
}

using Flops = double (*)(const Values& inputs, const Values& outputs);

const std::map<std::string, Flops>& arithmetic() {
  static const std::map<std::string, Flops> operations = {
      {"aten::mm", [](const Values& in, const Values&) { return product(in[0], in[1]); }},
      {"aten::bmm", [](const Values& in, const Values&) { return product(in[0], in[1]); }},
      {"aten::addmm", [](const Values& in, const Values&) { return product(in[1], in[2]); }},
      {"aten::baddbmm", [](const Values& in, const Values&) { return product(in[1], in[2]); }},
      {"aten::convolution",
       [](const Values& in, const Values& out) { return size_of(out[0]) * per_output(in[1]); }},
      {"aten::convolution_backward", backward_of_convolution}};
  return operations;
}

std::vector<torch::Tensor> tensors_among(const Values& values) {
  std::vector<torch::Tensor> out;
  for (const torch::IValue& value : values) {
    if (value.isTensor() && value.toTensor().defined()) out.push_back(value.toTensor());
    if (!value.isTensorList()) continue;
    for (const torch::Tensor& tensor : value.toTensorVector()) out.push_back(tensor);
  }
  return out;
}

double bytes_of(const std::vector<torch::Tensor>& tensors) {
  double bytes = 0;
  for (const torch::Tensor& tensor : tensors) bytes += static_cast<double>(tensor.nbytes());
  return bytes;
}

// Returns whether an operation only returns views of its inputs: it allocates nothing and writes nothing.
bool is_view(const std::string& name, const std::vector<torch::Tensor>& inputs,
             const std::vector<torch::Tensor>& outputs) {
  return !name.ends_with('_') && std::ranges::all_of(outputs, [&](const torch::Tensor& output) {
    return std::ranges::any_of(inputs, [&](const torch::Tensor& input) { return output.is_alias_of(input); });
  });
}

std::unique_ptr<at::ObserverContext> begun(const at::RecordFunction& operation) {
  if (clock_of_thread == nullptr) return nullptr;
  const auto inputs = operation.inputs();
  clock_of_thread->begin(Values(inputs.begin(), inputs.end()));
  return nullptr;
}

void ended(const at::RecordFunction& operation, at::ObserverContext* /*context*/) {
  if (clock_of_thread != nullptr) clock_of_thread->end(operation.name(), operation.outputs());
}

}  // namespace

RooflineClock::RooflineClock(const Device& device)
    : device_(device),
      callback_(at::addThreadLocalCallback(at::RecordFunctionCallback(begun, ended)
                                               .needsInputs(true)
                                               .needsOutputs(true)
                                               .scopes({at::RecordScope::FUNCTION}))) {
  clock_of_thread = this;
}

RooflineClock::~RooflineClock() {
  clock_of_thread = nullptr;
  at::removeCallback(callback_);
}

void RooflineClock::begin(Values inputs) {
  open_.push_back({std::move(inputs)});
}

void RooflineClock::end(const std::string& name, const Values& outputs) {
  auto [inputs, counted] = std::move(open_.back());
  open_.pop_back();
  if (!counted) {
    const std::vector<torch::Tensor> read = tensors_among(inputs);
    const std::vector<torch::Tensor> written = tensors_among(outputs);
    const auto flops = arithmetic().find(name);
    if (flops != arithmetic().end()) {
      add(flops->second(inputs, outputs), bytes_of(read) + bytes_of(written));
      counted = true;
    } else if (open_.empty() && !read.empty() && !is_view(name, read, written)) {
      add(0, bytes_of(read) + bytes_of(written));
    }
  }
  if (counted && !open_.empty()) open_.back().counted = true;
}

void RooflineClock::add(double flops, double bytes) {
  flops_ += flops;
  elapsed_s_ += device_.time_of_kernel_s(flops, bytes);
}

}  // namespace thinpipe::trainer
