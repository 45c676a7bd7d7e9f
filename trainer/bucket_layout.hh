// Which parameter goes into which bucket, as PyTorch's DistributedDataParallel does it: parameters are taken
// in the order in which their gradients arrive, the first bucket is small so that exchange starts early, a
// bucket is closed when it has reached its size, and no parameter is split.
#pragma once

#include <optional>

#include "harness/support/json_object.hh"
#include "trainer/bucket.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

struct BucketOptions {
  std::int64_t first_size_bytes = 1 << 20;
  static constexpr std::int64_t default_size_bytes = 25 << 20;
  std::optional<std::int64_t> size_bytes = default_size_bytes;

  void visit(auto& field) {
    field("first_size", first_size_bytes,
          Rule{.effect = "the first bucket is closed when it holds this much",
               .quantity = Quantity::size,
               .at_least = 1});
    field("size", size_bytes,
          Rule{.effect =
                   "every further bucket is closed when it holds this much; \"auto\": what suits the cap, "
                   "the latency and the method, or 25 MiB where no link is capped",
               .quantity = Quantity::size,
               .at_least = 1,
               .none = "auto"});
  }
};

// order: every index of `parameters` once, in order of arrival. What `synchroniser` leaves dense goes into
// side buckets; these come last, because they hold next to nothing and must not delay the others.
std::vector<Bucket> lay_out_buckets(const std::vector<ParameterInfo>& parameters,
                                    const std::vector<std::size_t>& order, const Synchroniser& synchroniser,
                                    const BucketOptions& options);

// Equal on two workers when their layouts are: names, sizes, offsets and order.
std::uint64_t layout_hash(const std::vector<ParameterInfo>& parameters, const std::vector<Bucket>& buckets);

}  // namespace thinpipe::trainer
