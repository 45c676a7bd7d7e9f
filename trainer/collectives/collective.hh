// SPDX-License-Identifier: Apache-2.0
// Collective operations among the workers. Every worker makes the same calls in the same order; each call
// blocks until this worker's part is done. Results are bit-identical on every worker.
//
// Tensors are one-dimensional, contiguous, and on the CPU or another device that takes() accepts. A failure
// of the network or of a peer is a CollectiveError that names the operation; afterwards the object is
// unusable.
#pragma once

#include <cstdint>
#include <span>

#include "common/protocol/call.hh"
#include "common/protocol/group_options.hh"
#include "common/support/registry.hh"
#include "trainer/base/tensors.hh"
#include "trainer/collectives/code_chunks.hh"
#include "trainer/collectives/collective_error.hh"
#include "trainer/collectives/point_to_point.hh"
#include "trainer/collectives/reduction.hh"

namespace thinpipe::trainer {

class Collective {
 public:
  Collective() = default;
  virtual ~Collective() = default;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  Collective(Collective&&) = delete;
  Collective& operator=(Collective&&) = delete;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // Returns whether tensors may be on `device`.
  virtual bool takes(const torch::Device& device) const { return device.is_cpu(); }

  // Reduces elementwise over workers, in place: float32, float16, bfloat16, int8, int32 or int64. A NaN in
  // any worker's float input gives NaN under sum; max is defined for inputs without NaN. int8 sums wrap: the
  // caller keeps world_size x |value| <= 127. No communication if there are no elements.
  virtual void all_reduce(torch::Tensor tensor, Reduction reduction) = 0;

  // Sums int8 codes in place. No code of any worker is larger in magnitude than `largest`, and world_size x
  // largest <= 127. A backend may send a sum over j workers in ⌈log2(2 j largest + 1)⌉ bits. This default
  // sends all_reduce's eight, as one chunk: it produces all codes first and consumes all sums at the end.
  virtual void all_reduce_quantised(torch::Tensor codes, int largest, const CodeChunks& chunks);

  // Return the bytes that one worker sends in such a call, without network headers: the mean over workers.
  // Other calls send what ring_formula.hh gives, or report it themselves.
  virtual double all_reduce_sent_bytes(std::int64_t bytes) const;
  virtual double all_reduce_quantised_sent_bytes(std::int64_t codes, int largest) const;

  // Returns whether sparse_all_reduce() works: sums of entries follow a reduction tree, and each edge carries
  // entries with the same index as one sum. If not, use all_gather_v to send all entries to every worker.
  virtual bool has_sparse_all_reduce() const { return false; }

  // Requires has_sparse_all_reduce(). Sums float32 tensors in place, of which each worker has entries at
  // `indices`, ascending, and zeros elsewhere. Returns the bytes over this worker's edges, in ascending order
  // of neighbour.
  virtual std::vector<EdgeBytes> sparse_all_reduce(torch::Tensor tensor,
                                                   std::span<const std::uint32_t> indices);

  // Requires has_sparse_all_reduce(). Sends as many bytes as `call` did, with arbitrary entries.
  virtual void replay_sparse_all_reduce(const SparseAllReduceCall& call);

  // Returns the concatenation of every worker's `input` in rank order. counts[r] is the number of elements of
  // worker r's input, the same list on every worker. Any dtype, the same on every worker.
  virtual torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) = 0;

  // Sends the first send_counts[0] elements of `input` to worker 0, the next send_counts[1] to worker 1, and
  // so on. Returns the elements received from worker 0, from worker 1, and so on. receive_counts[r] must be
  // worker r's send count for this worker. Any dtype, the same on every worker.
  virtual torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                                     std::span<const std::int64_t> receive_counts) = 0;

  // Sets every worker's `tensor` to the root's.
  virtual void broadcast(torch::Tensor tensor, int root) = 0;

  // Opens a PointToPoint object for messages of at most `message_bytes`. Until it is closed, no other
  // function may be called.
  virtual std::unique_ptr<PointToPoint> open_point_to_point(std::int64_t message_bytes) = 0;

  // Returns after every worker has called it.
  virtual void barrier() = 0;
};

// Network backends: {"name": "gloo", …}.
using CollectiveRegistry = Registry<Collective, const GroupOptions&>;
using CollectiveRegistration = Registration<Collective, const GroupOptions&>;

}  // namespace thinpipe::trainer
