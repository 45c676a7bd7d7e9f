// Where forward and backward run, and how far a GPU is that goes on by itself.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include "trainer/tensors.hh"

namespace thinpipe::trainer {

// "cpu", or "cuda": GPU rank modulo the number of GPUs. Throws Error where LibTorch finds none.
torch::Device device_for(const std::string& name, int rank);

// While it lives, matrix products and convolutions on the GPU take bfloat16 operands, if enabled; weights,
// gradients and sums stay float32.
class Autocast {
 public:
  explicit Autocast(bool enabled);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  Autocast(Autocast&&) = delete;
  Autocast& operator=(Autocast&&) = delete;

 private:
  bool enabled_;
};

// How far the work is that a GPU has been given: it goes on by itself, and what follows may have to wait. On
// a processor, where everything is done when its call returns, neither does anything.
class DeviceMark {
 public:
  // After what the calling thread has given that device so far.
  void set(const torch::Device& device);

  // Until all before the last set() is done, without keeping a processor busy.
  void wait() const;

 private:
  std::optional<c10::Event> event_;  // none before a GPU was marked
};

// A thread's own line of work on a device, beside other threads' and not behind it.
class DeviceQueue {
 public:
  explicit DeviceQueue(const torch::Device& device);

  // While what it returns lives, what the calling thread gives the device goes there.
  c10::OptionalStreamGuard enter() const {
    return stream_ ? c10::OptionalStreamGuard(*stream_) : c10::OptionalStreamGuard();
  }

 private:
  std::optional<c10::Stream> stream_;  // none on a processor
};

// Memory that a GPU copies into and out of by itself, where it is to be shared with one.
torch::TensorOptions main_memory_for(const torch::Device& device);

}  // namespace thinpipe::trainer
