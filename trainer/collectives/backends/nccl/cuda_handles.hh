// SPDX-License-Identifier: Apache-2.0
// CUDA's objects, each released by its destructor. Errors name the attempted operation.
#pragma once

#include <cstddef>
#include <string_view>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {

inline void cuda_call(std::string_view attempt, cudaError_t result) {
  if (result != cudaSuccess) throw Error(fmt::format("{}: {}", attempt, cudaGetErrorString(result)));
}

class CudaStream {
 public:
  CudaStream() {
    cuda_call("create a CUDA stream", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~CudaStream() { cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  CudaStream(CudaStream&&) = delete;
  CudaStream& operator=(CudaStream&&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaEvent {
 public:
  CudaEvent() { cuda_call("create a CUDA event", cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~CudaEvent() { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  CudaEvent(CudaEvent&&) = delete;
  CudaEvent& operator=(CudaEvent&&) = delete;

  void record(cudaStream_t stream) { cuda_call("record a CUDA event", cudaEventRecord(event_, stream)); }

  void block(cudaStream_t stream) {
    cuda_call("make a CUDA stream wait", cudaStreamWaitEvent(stream, event_, 0));
  }

  bool query() const {
    const cudaError_t result = cudaEventQuery(event_);
    if (result == cudaErrorNotReady) return false;
    cuda_call("run queued work on the GPU", result);
    return true;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  DeviceMemory(DeviceMemory&&) = delete;
  DeviceMemory& operator=(DeviceMemory&&) = delete;

  std::byte* of_at_least(std::size_t bytes) {
    if (bytes <= bytes_) return data_;
    cudaFree(data_);
    data_ = nullptr;
    bytes_ = 0;
    void* fresh = nullptr;
    cuda_call(fmt::format("allocate {} bytes on the GPU", bytes), cudaMalloc(&fresh, bytes));
    data_ = static_cast<std::byte*>(fresh);
    bytes_ = bytes;
    return data_;
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace thinpipe::trainer
