// SPDX-License-Identifier: Apache-2.0
#include "trainer/exchange/bucket_layout.hh"

#include <limits>

#include <fmt/format.h>
#include <xxhash.h>

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t kBytesPerElement = 4;

void append_buckets(std::vector<Bucket>& buckets, const std::vector<ParameterInfo>& parameters,
                    const std::vector<std::size_t>& order, bool side, const BucketOptions& options) {
  const auto is_full = [&](const Bucket& bucket) {
    const std::int64_t limit = bucket.index == 0
                                   ? options.first_size_bytes
                                   : options.size_bytes.value_or(BucketOptions::default_size_bytes);
    return bucket.size * kBytesPerElement >= limit;
  };
  const std::size_t before = buckets.size();
  for (const std::size_t parameter : order) {
    if (buckets.size() == before || is_full(buckets.back())) {
      buckets.push_back({.index = buckets.size(), .side = side});
    }
    Bucket& bucket = buckets.back();
    const std::int64_t size = parameters[parameter].size;
    bucket.slices.push_back({.parameter = parameter, .offset = bucket.size, .size = size});
    bucket.size += size;
  }
}

}  // namespace

std::vector<Bucket> lay_out_buckets(const std::vector<ParameterInfo>& parameters,
                                    const std::vector<std::size_t>& order, const Synchroniser& synchroniser,
                                    const BucketOptions& options) {
  std::vector<std::size_t> main_order;
  std::vector<std::size_t> side_order;
  for (const std::size_t p : order) {
    (synchroniser.leaves_dense(parameters[p]) ? side_order : main_order).push_back(p);
  }
  constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  const BucketOptions whole{.first_size_bytes = no_limit, .size_bytes = no_limit};
  std::vector<Bucket> buckets;
  append_buckets(buckets, parameters, main_order, false, synchroniser.needs_one_bucket() ? whole : options);
  append_buckets(buckets, parameters, side_order, true, options);
  return buckets;
}

std::uint64_t layout_hash(const std::vector<ParameterInfo>& parameters, const std::vector<Bucket>& buckets) {
  std::string text;
  for (const Bucket& bucket : buckets) {
    text += fmt::format("bucket {} {}\n", bucket.index, bucket.side ? "side" : "main");
    for (const Slice& slice : bucket.slices) {
      text += fmt::format("{} {} {}\n", parameters[slice.parameter].name, slice.offset, slice.size);
    }
  }
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace thinpipe::trainer
