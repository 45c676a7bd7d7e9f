// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/deepreduce/deepreduce_index_code.hh"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/deepreduce/bloom_choice.hh"
#include "trainer/synchronisers/sparse/index_code.hh"

namespace thinpipe::trainer {
namespace {

// Removes the first `bytes` bytes from `in` and returns them.
std::span<const std::uint8_t> take_indices(std::span<const std::uint8_t>& in, std::size_t bytes) {
  if (in.size() < bytes) {
    throw CollectiveError(
        fmt::format("indices of a sparse message take {} bytes, but it has {}", bytes, in.size()));
  }
  const auto taken = in.first(bytes);
  in = in.subspan(bytes);
  return taken;
}

class PlainIndexCode : public DeepReduceIndexCode {
 public:
  std::int64_t bytes(std::int64_t /*n*/, std::int64_t count) const override { return 4 * count; }
  bool keeps_order() const override { return true; }

  std::vector<std::uint32_t> append(std::span<const std::uint32_t> indices, std::uint32_t /*n*/,
                                    const RandomStream& /*stream*/,
                                    std::vector<std::uint8_t>& out) const override {
    const std::size_t end = out.size();
    out.resize(end + indices.size_bytes());
    if (!indices.empty()) std::memcpy(&out[end], indices.data(), indices.size_bytes());
    return {indices.begin(), indices.end()};
  }

  std::vector<std::uint32_t> read(std::span<const std::uint8_t>& in, std::uint32_t n, std::uint32_t count,
                                  const RandomStream& /*stream*/) const override {
    const auto own = take_indices(in, std::size_t{4} * count);
    std::vector<std::uint32_t> indices(count);
    if (count > 0) std::memcpy(indices.data(), own.data(), own.size());
    std::vector<bool> is_taken(n);
    for (const std::uint32_t index : indices) {
      if (index >= n || is_taken[index]) {
        throw CollectiveError(fmt::format("indices of a sparse message must be different and below {}", n));
      }
      is_taken[index] = true;
    }
    return indices;
  }
};

// A code of all sparsifiers.
class LosslessIndexCode : public DeepReduceIndexCode {
 public:
  explicit LosslessIndexCode(const std::string& name) : code_(make_index_code(name)) {}

  std::int64_t bytes(std::int64_t n, std::int64_t count) const override { return code_->bytes(n, count); }
  std::int64_t expected_bytes(std::int64_t n, std::int64_t count) const override {
    return code_->expected_bytes(n, count);
  }
  bool has_fixed_size() const override { return code_->has_fixed_size(); }

  std::vector<std::uint32_t> append(std::span<const std::uint32_t> indices, std::uint32_t n,
                                    const RandomStream& /*stream*/,
                                    std::vector<std::uint8_t>& out) const override {
    code_->append(indices, n, out);
    return {indices.begin(), indices.end()};
  }

  std::vector<std::uint32_t> read(std::span<const std::uint8_t>& in, std::uint32_t n, std::uint32_t count,
                                  const RandomStream& /*stream*/) const override {
    std::vector<std::uint32_t> indices;
    in = in.subspan(code_->read(in, n, count, indices));
    return indices;
  }

 private:
  std::unique_ptr<IndexCode> code_;
};

class BloomIndexCode : public DeepReduceIndexCode {
 public:
  explicit BloomIndexCode(double false_positive_rate) : false_positive_rate_(false_positive_rate) {}

  std::int64_t bytes(std::int64_t /*n*/, std::int64_t count) const override {
    return BloomFilter::bytes_for(count, false_positive_rate_);
  }

  std::vector<std::uint32_t> append(std::span<const std::uint32_t> indices, std::uint32_t n,
                                    const RandomStream& stream,
                                    std::vector<std::uint8_t>& out) const override {
    BloomFilter filter(std::ssize(indices), false_positive_rate_);
    for (const std::uint32_t index : indices) filter.insert(index);
    out.insert(out.end(), filter.bytes().begin(), filter.bytes().end());
    return chosen(filter, filter.positives(n), indices.size(), stream);
  }

  std::vector<std::uint32_t> read(std::span<const std::uint8_t>& in, std::uint32_t n, std::uint32_t count,
                                  const RandomStream& stream) const override {
    const auto own = take_indices(in, static_cast<std::size_t>(bytes(n, count)));
    BloomFilter filter(count, false_positive_rate_);
    std::ranges::copy(own, filter.bytes().begin());
    std::vector<std::uint32_t> positives = filter.positives(n);
    if (positives.size() < count) {
      throw CollectiveError(fmt::format(
          "the Bloom filter of a sparse message has {} positives for {} indices", positives.size(), count));
    }
    return chosen(filter, std::move(positives), count, stream);
  }

 protected:
  double false_positive_rate() const { return false_positive_rate_; }

 private:
  virtual std::vector<std::uint32_t> chosen(const BloomFilter& filter, std::vector<std::uint32_t> positives,
                                            std::size_t count, const RandomStream& stream) const = 0;

  double false_positive_rate_;
};

class AllPositives : public BloomIndexCode {
 public:
  using BloomIndexCode::BloomIndexCode;

  std::int64_t max_values(std::int64_t n, std::int64_t /*count*/) const override { return n; }
  std::int64_t expected_values(std::int64_t n, std::int64_t count) const override {
    return count + std::llround(false_positive_rate() * static_cast<double>(n - count));
  }
  bool has_fixed_count() const override { return false; }

 private:
  std::vector<std::uint32_t> chosen(const BloomFilter& /*filter*/, std::vector<std::uint32_t> positives,
                                    std::size_t /*count*/, const RandomStream& /*stream*/) const override {
    return positives;
  }
};

class RandomPositives : public BloomIndexCode {
 public:
  using BloomIndexCode::BloomIndexCode;

 private:
  std::vector<std::uint32_t> chosen(const BloomFilter& /*filter*/, std::vector<std::uint32_t> positives,
                                    std::size_t count, const RandomStream& stream) const override {
    return choose_at_random(positives, count, stream);
  }
};

class ConflictingPositives : public BloomIndexCode {
 public:
  using BloomIndexCode::BloomIndexCode;

 private:
  std::vector<std::uint32_t> chosen(const BloomFilter& filter, std::vector<std::uint32_t> positives,
                                    std::size_t count, const RandomStream& stream) const override {
    return choose_by_conflicts(filter, positives, count, stream);
  }
};

using MakeDeepReduceIndexCode = std::function<std::unique_ptr<DeepReduceIndexCode>(double)>;

const std::map<std::string, MakeDeepReduceIndexCode>& deepreduce_index_codes() {
  static const std::map<std::string, MakeDeepReduceIndexCode> all = {
      {"bloom_p0", [](double rate) { return std::make_unique<AllPositives>(rate); }},
      {"bloom_p1", [](double rate) { return std::make_unique<RandomPositives>(rate); }},
      {"bloom_p2", [](double rate) { return std::make_unique<ConflictingPositives>(rate); }},
      {"huffman", [](double /*rate*/) { return std::make_unique<LosslessIndexCode>("huffman"); }},
      {"plain", [](double /*rate*/) { return std::make_unique<PlainIndexCode>(); }},
      {"run_length", [](double /*rate*/) { return std::make_unique<LosslessIndexCode>("run_length"); }},
  };
  return all;
}

}  // namespace

std::unique_ptr<DeepReduceIndexCode> make_deepreduce_index_code(const std::string& name,
                                                                double false_positive_rate) {
  return deepreduce_index_codes().at(name)(false_positive_rate);
}

std::vector<std::string> deepreduce_index_code_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : deepreduce_index_codes()) names.push_back(name);
  return names;
}

}  // namespace thinpipe::trainer
