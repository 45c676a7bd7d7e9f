// One rank's GPU in an NCCL communicator: what the backend (nccl.hh) needs of NCCL and of CUDA, and no more,
// so that all that can go wrong above it is tested without a GPU. Operations are queued on a stream of the
// group's own, in order, and return at once; finish() waits for them. Every rank queues the same operations
// in the same order. Failures are Errors.
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
  // A stretch of this GPU's memory, and the rank that it comes from or goes to.
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

  // Memory of the GPU, valid until the next reserve(); nothing is queued that uses the former.
  virtual std::byte* reserve(std::size_t bytes) = 0;

  // First of all on a thread: its calls are about this GPU from now on, and what is queued comes after what
  // the thread has queued for it elsewhere.
  virtual void follow_caller() = 0;

  virtual void upload(std::span<const std::byte> host, std::byte* device) = 0;
  virtual void download(const std::byte* device, std::span<std::byte> host) = 0;

  // In place, elementwise over ranks.
  virtual void all_reduce(std::byte* data, std::int64_t elements, torch::ScalarType type,
                          Reduction reduction) = 0;

  // into[i] += the i-th of each part, one after the other; a sum of float16 or bfloat16 is one of float32,
  // and rounded once.
  virtual void add(std::byte* into, std::span<const std::byte* const> parts, std::int64_t elements,
                   torch::ScalarType type) = 0;

  // Each block becomes its rank's on every rank.
  virtual void broadcast(std::span<const Block> blocks) = 0;

  // Sends the first to their ranks while the second come from theirs; a rank may send to itself.
  virtual void exchange(std::span<const Block> sent, std::span<const Block> received) = 0;

  // Waits until all that is queued has happened, without keeping a processor busy. Throws where NCCL reports
  // a failure, of a peer too, and after `timeout_s`.
  virtual void finish(double timeout_s) = 0;

  // Ends what is queued; peers that wait for this rank are told. Nothing may be queued afterwards.
  virtual void abort() noexcept = 0;
};

// Of this worker, on the GPU of its rank. `gloo` passes on how ranks find each other. Throws Error where this
// build has no NCCL.
std::unique_ptr<NcclGroup> open_nccl_group(const Membership& membership, Collective& gloo, double timeout_s);

// As "2.30.7"; nothing where this build has no NCCL.
std::optional<std::string> nccl_version();

}  // namespace thinpipe::trainer
