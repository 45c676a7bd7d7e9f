// SPDX-License-Identifier: Apache-2.0
// The device of forward and backward, and the progress of a GPU, which works asynchronously.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Returns the index of a worker's GPU: the rank modulo the number of GPUs. Throws Error if LibTorch finds none.
int gpu_of(int rank);

// Returns the device. name: "cpu", or "cuda": the GPU of the rank.
torch::Device device_for(const std::string& name, int rank);

// If enabled, matrix products and convolutions on the GPU use bfloat16 operands while this object lives;
// weights, gradients and sums stay float32.
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

// Marks a position in the work given to a GPU, which runs asynchronously, so that another thread can wait for
// it. On a CPU all work is done when its call returns, and neither function does anything.
class DeviceEvent {
 public:
  // Marks the end of the work that the calling thread has given the device so far.
  void set(const torch::Device& device);

  // Waits for the work before the last set(), without keeping a CPU core busy.
  void wait() const;

 private:
  std::optional<c10::Event> event_;  // nullopt until a GPU has been marked
};

// A thread's own queue of work on a device, concurrent with other threads' queues.
class DeviceStream {
 public:
  explicit DeviceStream(const torch::Device& device);

  // While the returned guard lives, the calling thread's work for the device goes to this queue.
  c10::OptionalStreamGuard enter() const {
    return stream_ ? c10::OptionalStreamGuard(*stream_) : c10::OptionalStreamGuard();
  }

 private:
  std::optional<c10::Stream> stream_;  // nullopt on a CPU
};

// Returns options for main memory, pinned if it is shared with a GPU.
torch::TensorOptions main_memory_for(const torch::Device& device);

}  // namespace thinpipe::trainer
