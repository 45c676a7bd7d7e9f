// SPDX-License-Identifier: Apache-2.0
// Assigns parameters to buckets like PyTorch's DistributedDataParallel. Parameters are taken in the order in
// which their gradients arrive. The first bucket is small so that exchange starts early; a bucket is closed
// when it has reached its size; no parameter is split.
#pragma once

#include <optional>

#include "common/support/json_object.hh"
#include "trainer/base/bucket.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

struct BucketOptions {
  std::int64_t first_size_bytes = 1 << 20;
  static constexpr std::int64_t default_size_bytes = 25 << 20;
  std::optional<std::int64_t> size_bytes = default_size_bytes;

  void visit(auto& field) {
    field("first_size", first_size_bytes,
          Rule{.effect = "the first bucket is closed when it has reached this size",
               .quantity = Quantity::size,
               .at_least = 1});
    field("size", size_bytes,
          Rule{.effect = "every further bucket is closed when it has reached this size; \"auto\": a size "
                         "chosen for the cap, the latency and the method, or 25 MiB if no link is capped",
               .quantity = Quantity::size,
               .at_least = 1,
               .none = "auto"});
  }
};

// Returns the buckets. order: every index of `parameters` once, in order of arrival. Parameters that
// `synchroniser` leaves dense go into side buckets. These come last, because they are tiny and must not
// delay the others.
std::vector<Bucket> lay_out_buckets(const std::vector<ParameterInfo>& parameters,
                                    const std::vector<std::size_t>& order, const Synchroniser& synchroniser,
                                    const BucketOptions& options);

// Returns a hash of names, sizes, offsets and order: equal on two workers if their layouts are equal.
std::uint64_t layout_hash(const std::vector<ParameterInfo>& parameters, const std::vector<Bucket>& buckets);

}  // namespace thinpipe::trainer
