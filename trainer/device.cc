#include "trainer/device.hh"

#include <ATen/autocast_mode.h>
#include <torch/version.h>

#include "harness/support/exception.hh"

namespace thinpipe::trainer {
namespace {

// LibTorch 2.4 gave each kind of device a switch of its own.
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

torch::Device device_for(const std::string& name, int rank) {
  if (name == "cpu") return {torch::kCPU};
  const auto gpus = static_cast<int>(torch::cuda::device_count());
  if (gpus == 0) throw Error("compute on cuda: LibTorch finds no GPU on this machine");
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(rank % gpus)};
}

Autocast::Autocast(bool enabled) : enabled_(enabled) {
  if (enabled_) switch_autocast(true);
}

Autocast::~Autocast() {
  if (!enabled_) return;
  switch_autocast(false);
  at::autocast::clear_cache();
}

}  // namespace thinpipe::trainer
