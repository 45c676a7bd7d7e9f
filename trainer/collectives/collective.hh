// Collective operations among the workers. Every worker makes the same calls in the same order; each call
// blocks until this worker's part is done. Results are bit-identical on every worker.
//
// Tensors are one-dimensional, contiguous and on the CPU, or where takes() says. A failure of the network or
// of a peer is a CollectiveError that names the operation; afterwards the object is unusable.
#pragma once

#include <cstdint>
#include <span>

#include "harness/replay/call.hh"
#include "harness/support/registry.hh"
#include "trainer/collectives/code_pieces.hh"
#include "trainer/collectives/collective_error.hh"
#include "trainer/collectives/mailbox.hh"
#include "trainer/collectives/membership.hh"
#include "trainer/collectives/reduction.hh"
#include "trainer/tensors.hh"

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

  // Whether tensors may be there.
  virtual bool takes(const torch::Device& device) const { return device.is_cpu(); }

  // In place, elementwise over workers. float32, float16, bfloat16, int8, int32 or int64. A NaN in any
  // worker's float input gives NaN under sum; max is defined for inputs without NaN. int8 sums wrap: the
  // caller keeps world_size x |value| <= 127. Zero elements: no communication.
  virtual void all_reduce(torch::Tensor tensor, Reduction reduction) = 0;

  // The sum, in place, of int8 codes of which no worker has a larger one than `largest`: world_size x largest
  // <= 127. A backend may carry a sum of j workers' in ⌈log2(2 j largest + 1)⌉ bits; this one takes
  // all_reduce's eight, and no pieces: all are made before, and taken after it.
  virtual void all_reduce_codes(torch::Tensor codes, int largest, const CodePieces& pieces);

  // What one worker sends in such a call, the mean over workers, without headers of the network. Other calls
  // send what ring_formula.hh says, or say it themselves.
  virtual double all_reduce_sent_bytes(std::int64_t bytes) const;
  virtual double code_sum_sent_bytes(std::int64_t codes, int largest) const;

  // Whether sums of entries go along a tree of the workers, on which what some have passes each edge as one
  // sum. Where they do not, all_gather_v brings all entries to everyone.
  virtual bool sums_entries() const { return false; }

  // Where sums_entries(). The sum, in place, of float32 tensors of which each worker has entries at `places`,
  // ascending, and zeros elsewhere. Returns what went over this worker's edges, its neighbours ascending.
  virtual std::vector<EdgeBytes> sum_entries(torch::Tensor tensor, std::span<const std::uint32_t> places);

  // Where sums_entries(): as many bytes as in that call once more, of whatever entries.
  virtual void repeat_entry_sum(const EntrySumCall& call);

  // The concatenation of every worker's `input` in rank order. counts[r] is the number of elements of worker
  // r's input, the same list on every worker. Any dtype, the same on every worker.
  virtual torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) = 0;

  // Of `input`, the first send_counts[0] elements go to worker 0, the next send_counts[1] to worker 1, and so
  // on; the result holds in the same way what came from worker 0, from worker 1 and so on. receive_counts[r]
  // is what worker r has for this worker as its send_counts. Any dtype, the same on every worker.
  virtual torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                                     std::span<const std::int64_t> receive_counts) = 0;

  // `tensor` of every worker becomes the root's.
  virtual void broadcast(torch::Tensor tensor, int root) = 0;

  // A way for messages of at most this size; nothing else is called until it is closed.
  virtual std::unique_ptr<Mailbox> open_mailbox(std::int64_t message_bytes) = 0;

  // Returns after every worker has called it.
  virtual void barrier() = 0;
};

// Network backends: {"name": "gloo", …}.
using CollectiveRegistry = Registry<Collective, const Membership&>;
using CollectiveRegistration = Registration<Collective, const Membership&>;

}  // namespace thinpipe::trainer
