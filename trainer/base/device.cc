// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/device.hh"

#include <chrono>
#include <thread>

#include <ATen/autocast_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

// LibTorch 2.4 introduced a separate switch for each kind of device.
void switch_autocast(bool on) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCUDA, on);
#else
  at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
  at::autocast::set_enabled(on);
#endif
}

}  // namespace

int gpu_of(int rank) {
  const auto gpus = static_cast<int>(torch::cuda::device_count());
  if (gpus == 0) throw Error("compute on cuda: LibTorch finds no GPU on this machine");
  return rank % gpus;
}

torch::Device device_for(const std::string& name, int rank) {
  if (name == "cpu") return {torch::kCPU};
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(gpu_of(rank))};
}

Autocast::Autocast(bool enabled) : enabled_(enabled) {
  if (enabled_) switch_autocast(true);
}

Autocast::~Autocast() {
  if (!enabled_) return;
  switch_autocast(false);
  at::autocast::clear_cache();
}

void DeviceEvent::set(const torch::Device& device) {
  if (!device.is_cuda()) return;
  if (!event_) event_.emplace(device.type());
  event_->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

void DeviceEvent::wait() const {
  constexpr auto nap = std::chrono::microseconds(50);
  while (event_ && !event_->query()) std::this_thread::sleep_for(nap);
}

DeviceStream::DeviceStream(const torch::Device& device) {
  if (device.is_cuda()) stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

torch::TensorOptions main_memory_for(const torch::Device& device) {
  return torch::TensorOptions().pinned_memory(device.is_cuda());
}

}  // namespace thinpipe::trainer
