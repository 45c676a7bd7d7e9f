// SPDX-License-Identifier: Apache-2.0
// Collectives over TCP by Gloo: a full mesh of connections between the workers' addresses.
//
// all_reduce is Gloo's segmented ring or, below `ring_from_bytes`, its hypercube ("bcube"). The hypercube
// sends as many bytes, but in 2 log2(N) hops instead of 2(N-1): hops dominate the cost of a small message. In
// both, one worker sums an element once and the result is copied to the others. So results are bit-identical
// on every worker, and float16 partial sums are rounded to half at every hop. The order of a float sum
// depends on the element's position. all_gather_v is a ring towards higher ranks, all_to_all_v sends from
// each worker to each, and broadcast follows a binomial tree.
#include "trainer/collectives/backends/gloo.hh"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>

#include "common/protocol/call.hh"
#include "trainer/base/library_error.hh"
#include "trainer/collectives/arguments.hh"
#include "trainer/collectives/backends/gloo_all_to_all.hh"
#include "trainer/collectives/backends/gloo_context.hh"
#include "trainer/collectives/backends/gloo_point_to_point.hh"
#include "trainer/collectives/reduce_function.hh"
#include "trainer/collectives/scaled_block.hh"
#include "trainer/collectives/transport/peer_sockets.hh"
#include "trainer/collectives/transport/rendezvous.hh"
#include "trainer/collectives/transport/sigpipe_block.hh"
#include "trainer/collectives/transport/time_limits.hh"

namespace thinpipe::trainer {

namespace {

class GlooCollective : public Collective {
 public:
  GlooCollective(const GlooOptions& options, const GroupOptions& group_options);

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }
  void all_reduce(torch::Tensor tensor, Reduction reduction) override;
  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) override;
  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override;
  void broadcast(torch::Tensor tensor, int root) override;
  std::unique_ptr<PointToPoint> open_point_to_point(std::int64_t message_bytes) override;
  void barrier() override;

 private:
  // A PointToPoint object whose failures make this object unusable.
  class OwnPointToPoint;

  void connect(const GlooOptions& options, const GroupOptions& group_options);
  // Runs `operation`. Turns its exceptions into a CollectiveError that names `call`, and then closes the
  // connections, so that peers waiting for this worker fail at once too.
  void attempt(const std::string& call, const std::function<void()>& operation);

  int rank_;
  int world_size_;
  std::shared_ptr<gloo::Context> context_;  // null in a world of one
  // Every worker makes the same calls, so tags agree and no two calls share one.
  std::uint32_t next_tag_ = 0;
  std::string failure_;  // of an earlier call
};

GlooCollective::GlooCollective(const GlooOptions& options, const GroupOptions& group_options)
    : rank_(group_options.rank), world_size_(group_options.world_size) {
  if (rank_ < 0 || rank_ >= world_size_) {
    throw CollectiveError(fmt::format("connect: rank {} is not below world size {}", rank_, world_size_));
  }
  if (world_size_ == 1) return;
  const std::string& place = group_options.rendezvous_addresses.empty()
                                 ? group_options.rendezvous_directory
                                 : group_options.rendezvous_addresses.front();
  attempt(fmt::format("connect at {} through {}", group_options.address, place),
          [&] { connect(options, group_options); });
}

void GlooCollective::connect(const GlooOptions& options, const GroupOptions& group_options) {
  const auto secret = run_token_of_environment();
  const PeerListener listener({.address = group_options.address, .secret = secret});
  const auto notices = meet(group_options, secret, listener.notice(), options.timeout_s);
  std::vector<int> others;
  for (int rank = 0; rank < world_size_; ++rank) {
    if (rank != rank_) others.push_back(rank);
  }
  context_ = gloo_context_over(
      rank_, world_size_, connect_sockets(listener, secret, notices, rank_, others, options.timeout_s),
      std::chrono::ceil<std::chrono::milliseconds>(
          std::chrono::duration<double>(std::min(options.timeout_s, max_time_limit_s))));
  // A worker that fails right after it has connected must not look as if it could not be reached.
  gloo::BarrierOptions everyone_connected(context_);
  everyone_connected.setTag(next_tag_++);
  gloo::barrier(everyone_connected);
}

void GlooCollective::attempt(const std::string& call, const std::function<void()>& operation) {
  const auto fail = [&](const std::string& reason) {
    throw CollectiveError(fmt::format("{} on rank {} of {}: {}", call, rank_, world_size_, reason));
  };
  if (!failure_.empty()) fail("an earlier call failed: " + failure_);
  const SigpipeBlock block;
  try {
    operation();
  } catch (const std::exception& error) {
    failure_ = message_of(error);
  }
  if (failure_.empty()) return;
  if (context_) context_->closeConnections();
  fail(failure_);
}

template <class Element>
void set_output(gloo::AllreduceOptions& options, const torch::Tensor& tensor) {
  options.setOutput(static_cast<Element*>(tensor.data_ptr()), tensor.nbytes() / sizeof(Element));
}

// Gloo needs only an element's size.
void set_output_by_size(gloo::AllreduceOptions& options, const torch::Tensor& tensor,
                        std::size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return set_output<std::uint8_t>(options, tensor);
    case 2:
      return set_output<std::uint16_t>(options, tensor);
    case 4:
      return set_output<std::uint32_t>(options, tensor);
    case sizeof(ScaledBlock):
      return set_output<ScaledBlock>(options, tensor);
    default:
      return set_output<std::uint64_t>(options, tensor);
  }
}

void GlooCollective::all_reduce(torch::Tensor tensor, Reduction reduction) {
  const std::string call = describe_all_reduce(tensor, reduction);
  check_tensor(call, tensor);
  const Reduce reduce = reduce_function(tensor.scalar_type(), reduction);
  const std::size_t element_bytes = check_elements(call, tensor, reduction);
  if (tensor.numel() == 0 || world_size_ == 1) return;
  attempt(call, [&] {
    gloo::AllreduceOptions options(context_);
    set_output_by_size(options, tensor, element_bytes);
    using Algorithm = gloo::AllreduceOptions::Algorithm;
    options.setAlgorithm(std::cmp_less(tensor.nbytes(), ring_from_bytes) ? Algorithm::BCUBE
                                                                         : Algorithm::RING);
    options.setTag(next_tag_++);
    options.setReduceFunction(
        [reduce, element_bytes](void* into, const void* a, const void* b, std::size_t count) {
          if (into != a) std::memcpy(into, a, count * element_bytes);
          reduce(into, std::span(&b, 1), count);
        });
    gloo::allreduce(options);
  });
}

torch::Tensor GlooCollective::all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) {
  const std::string call = describe_all_gather_v(input, counts);
  check_tensor(call, input);
  check_counts(call, input, counts, rank_, world_size_);
  if (world_size_ == 1) return input.clone();
  std::vector<std::size_t> block_bytes;
  for (const std::int64_t count : counts) block_bytes.push_back(count * input.element_size());
  const auto own = block_bytes.begin() + rank_;
  const std::int64_t elements = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  torch::Tensor gathered = torch::empty(elements, input.options());
  if (elements == 0) return gathered;
  auto* const bytes = static_cast<std::uint8_t*>(gathered.data_ptr());
  if (*own > 0) {
    std::memcpy(bytes + std::accumulate(block_bytes.begin(), own, std::size_t{0}), input.data_ptr(), *own);
  }
  attempt(call, [&] {
    gloo::AllgathervOptions options(context_);
    options.setOutput(bytes, block_bytes);
    options.setTag(next_tag_++);
    gloo::allgatherv(options);
  });
  return gathered;
}

torch::Tensor GlooCollective::all_to_all_v(const torch::Tensor& input,
                                           std::span<const std::int64_t> send_counts,
                                           std::span<const std::int64_t> receive_counts) {
  const std::string call = describe_all_to_all_v(input);
  check_tensor(call, input);
  check_all_to_all(call, input, send_counts, receive_counts, rank_, world_size_);
  if (world_size_ == 1) return input.clone();
  const auto bytes_of = [&](std::span<const std::int64_t> counts) {
    std::vector<std::size_t> bytes;
    for (const std::int64_t count : counts) bytes.push_back(count * input.element_size());
    return bytes;
  };
  const std::int64_t elements =
      std::accumulate(receive_counts.begin(), receive_counts.end(), std::int64_t{0});
  torch::Tensor received = torch::empty(elements, input.options());
  attempt(call, [&] {
    gloo_all_to_all(*context_, {static_cast<const std::byte*>(input.data_ptr()), input.nbytes()},
                    bytes_of(send_counts), {static_cast<std::byte*>(received.data_ptr()), received.nbytes()},
                    bytes_of(receive_counts), next_tag_++);
  });
  return received;
}

void GlooCollective::broadcast(torch::Tensor tensor, int root) {
  const std::string call = describe_broadcast(tensor, root);
  check_tensor(call, tensor);
  check_root(call, root, world_size_);
  if (world_size_ == 1) return;
  attempt(call, [&] {
    auto* const bytes = static_cast<std::uint8_t*>(tensor.data_ptr());
    const auto size = static_cast<std::int64_t>(tensor.nbytes());
    for (std::int64_t done = 0; done < size; done += broadcast_piece_bytes) {
      gloo::BroadcastOptions options(context_);
      options.setOutput(bytes + done, static_cast<std::size_t>(std::min(broadcast_piece_bytes, size - done)));
      options.setRoot(root);
      options.setTag(next_tag_++);
      gloo::broadcast(options);
    }
  });
}

class GlooCollective::OwnPointToPoint : public PointToPoint {
 public:
  OwnPointToPoint(GlooCollective& owner, std::int64_t message_bytes) : owner_(owner) {
    if (owner_.world_size_ == 1) return;
    owner_.attempt("open point-to-point messages", [&] {
      inner_ = open_gloo_point_to_point(owner_.context_, message_bytes, owner_.next_tag_++);
    });
  }

  void send(int to, const torch::Tensor& message) override {
    owner_.attempt(fmt::format("send to rank {}", to), [&] { inner_->send(to, message); });
  }

  ReceivedMessage receive() override {
    ReceivedMessage received;
    owner_.attempt("receive from any rank", [&] { received = inner_->receive(); });
    return received;
  }

  void close() override {
    if (inner_) owner_.attempt("close point-to-point messages", [&] { inner_->close(); });
  }

 private:
  GlooCollective& owner_;
  std::unique_ptr<PointToPoint> inner_;
};

std::unique_ptr<PointToPoint> GlooCollective::open_point_to_point(std::int64_t message_bytes) {
  return std::make_unique<OwnPointToPoint>(*this, message_bytes);
}

void GlooCollective::barrier() {
  if (world_size_ == 1) return;
  attempt("barrier", [&] {
    gloo::BarrierOptions options(context_);
    options.setTag(next_tag_++);
    gloo::barrier(options);
  });
}

THINPIPE_REGISTER(Collective){
    "gloo", "TCP between the workers' addresses: ring all-reduce and all-gather, binomial broadcast",
    describe_options<GlooOptions>(), [](JsonObject& options, const GroupOptions& group_options) {
      return make_gloo(read_options<GlooOptions>(options), group_options);
    }};

}  // namespace

std::unique_ptr<Collective> make_gloo(const GlooOptions& options, const GroupOptions& group_options) {
  return std::make_unique<GlooCollective>(options, group_options);
}

std::string gloo_version() {
  return fmt::format("{}.{}.{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);
}

std::string gloo_library_path() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&gloo::allreduce), &info) == 0) {
    throw Error("find the library that defines gloo::allreduce: the dynamic linker does not know the symbol");
  }
  return info.dli_fname;
}

}  // namespace thinpipe::trainer
