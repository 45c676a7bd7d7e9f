// SPDX-License-Identifier: Apache-2.0
// One rank's GPU in an NCCL communicator: only those operations of NCCL and CUDA that the backend (nccl.hh)
// needs, so that everything above them is tested without a GPU. Operations are queued in order on a stream of
// the group's own and return at once; finish() waits for them. Every rank queues the same operations in the
// same order. Failures are Errors.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

class NcclGroup {
 public:
  // A range of this GPU's memory, and the rank that it comes from or goes to.
  struct Block {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    int rank = 0;
  };

  NcclGroup() = default;
  virtual ~NcclGroup() = default;
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;
  NcclGroup(NcclGroup&&) = delete;
  NcclGroup& operator=(NcclGroup&&) = delete;

  // Returns GPU memory that is valid until the next reserve(). No queued operation may use the previous
  // memory.
  virtual std::byte* reserve(std::size_t bytes) = 0;

  // Call first in each thread. Makes the thread use this GPU, and orders queued operations after those that
  // the thread has queued on it elsewhere.
  virtual void follow_caller() = 0;

  virtual void upload(std::span<const std::byte> host, std::byte* device) = 0;
  virtual void download(const std::byte* device, std::span<std::byte> host) = 0;

  // Reduces elementwise over ranks, in place.
  virtual void all_reduce(std::byte* data, std::int64_t elements, torch::ScalarType type,
                          Reduction reduction) = 0;

  // Adds the i-th element of each part to into[i], one part after the other. float16 and bfloat16 are summed
  // in float32 and rounded once.
  virtual void add(std::byte* into, std::span<const std::byte* const> parts, std::int64_t elements,
                   torch::ScalarType type) = 0;

  // Sends each block from its rank to all others.
  virtual void broadcast(std::span<const Block> blocks) = 0;

  // Sends the blocks of `sent` to their ranks while receiving those of `received`. A rank may send to itself.
  virtual void exchange(std::span<const Block> sent, std::span<const Block> received) = 0;

  // Waits until all queued operations are done, without keeping a CPU busy. Throws if NCCL reports a failure,
  // including a peer's, or after `timeout_s`.
  virtual void finish(double timeout_s) = 0;

  // Aborts the queued operations, and those of peers that wait for this rank. Nothing may be queued
  // afterwards.
  virtual void abort() noexcept = 0;
};

// Opens this worker's group, on gpu_of() its rank. The ranks find each other through `gloo`. Throws Error
// if this build has no NCCL.
std::unique_ptr<NcclGroup> open_nccl_group(const GroupOptions& group_options, Collective& gloo,
                                           double timeout_s);

// Returns for example "2.30.7"; nullopt if this build has no NCCL.
std::optional<std::string> nccl_version();

}  // namespace thinpipe::trainer
