// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/deepreduce/deepreduce_code.hh"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/deepreduce/deepreduce_index_code.hh"
#include "trainer/synchronisers/deepreduce/value_code.hh"
#include "trainer/synchronisers/sparse/bit_stream.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t largest_plain_bucket = 1000;
constexpr std::uint8_t values_are_finite = 1;
constexpr std::uint8_t values_are_not_finite = 0;

// Returns the bits of a position in a list of `count`.
int order_bits(std::size_t count) {
  return count > 1 ? static_cast<int>(std::bit_width(count - 1)) : 0;
}

void sort_by_value(std::vector<std::uint32_t>& indices, std::span<const float> dense) {
  std::ranges::stable_sort(indices, std::greater(), [dense](std::uint32_t index) { return dense[index]; });
}

// Writes the list positions of the indices in order of value. Returns the indices in that order.
std::vector<std::uint32_t> append_order(std::span<const std::uint32_t> indices, std::span<const float> dense,
                                        std::vector<std::uint8_t>& out) {
  std::vector<std::uint32_t> order(indices.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater(), [&](std::uint32_t at) { return dense[indices[at]]; });
  BitWriter bits(out);
  std::vector<std::uint32_t> sorted;
  sorted.reserve(indices.size());
  for (const std::uint32_t at : order) {
    bits.append(at, order_bits(indices.size()));
    sorted.push_back(indices[at]);
  }
  bits.finish();
  return sorted;
}

// Inverts append_order() and removes the bytes it read from the front of `in`.
std::vector<std::uint32_t> read_order(std::span<const std::uint8_t>& in,
                                      std::span<const std::uint32_t> indices) {
  BitReader bits(in);
  std::vector<bool> is_taken(indices.size());
  std::vector<std::uint32_t> sorted;
  sorted.reserve(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::uint32_t at = bits.read(order_bits(indices.size()));
    if (at >= indices.size() || is_taken[at]) {
      throw CollectiveError(
          fmt::format("the order of {} values in a sparse message is not a permutation", indices.size()));
    }
    is_taken[at] = true;
    sorted.push_back(indices[at]);
  }
  in = in.subspan(bits.bytes_read());
  return sorted;
}

class DeepReduceCode : public SparseCode {
 public:
  explicit DeepReduceCode(const DeepReduceFormat& format)
      : seed_(format.seed),
        plain_(make_plain_sparse_code("u32")),
        index_code_(make_deepreduce_index_code(format.indices, format.false_positive_rate)),
        values_(make_value_code(format.values)) {}

  std::int64_t message_bytes(std::int64_t n, std::int64_t count) const override {
    if (n <= largest_plain_bucket) return plain_->message_bytes(n, count);
    return bytes_with_values(index_code_->bytes(n, count), index_code_->max_values(n, count));
  }

  std::int64_t expected_bytes(std::int64_t n, std::int64_t count) const override {
    if (n <= largest_plain_bucket) return plain_->expected_bytes(n, count);
    return bytes_with_values(index_code_->expected_bytes(n, count), index_code_->expected_values(n, count));
  }

  bool has_fixed_size() const override {
    return index_code_->has_fixed_size() && index_code_->has_fixed_count() && values_->has_fixed_size();
  }

  std::vector<std::uint8_t> encode(const SparseHeader& header, std::uint32_t sender,
                                   std::span<const std::uint32_t> indices,
                                   std::span<const float> dense) const override {
    if (header.n <= largest_plain_bucket) return plain_->encode(header, sender, indices, dense);
    std::vector<std::uint8_t> bytes;
    append_sparse_header(header, static_cast<std::uint32_t>(indices.size()), bytes);
    bytes.push_back(values_are_finite);
    const std::size_t begin = bytes.size();
    if (!append_entries(header, sender, indices, dense, bytes)) {
      bytes.resize(begin);
      bytes.back() = values_are_not_finite;
    }
    if (has_fixed_size())
      bytes.resize(static_cast<std::size_t>(message_bytes(header.n, std::ssize(indices))));
    return bytes;
  }

  void add(std::span<const std::uint8_t> message, const SparseHeader& expected, std::uint32_t sender,
           float factor, std::span<float> dense) const override {
    if (expected.n <= largest_plain_bucket) return plain_->add(message, expected, sender, factor, dense);
    const std::uint32_t count = read_sparse_header(expected, message);
    if (message.empty() || message.front() > values_are_finite) {
      throw CollectiveError("a sparse message does not indicate whether its values are finite");
    }
    if (message.front() == values_are_not_finite) {
      dense.front() = std::numeric_limits<float>::quiet_NaN();
      return;
    }
    message = message.subspan(1);
    std::vector<std::uint32_t> indices =
        index_code_->read(message, expected.n, count, index_stream(expected, sender));
    if (sends_order()) indices = read_order(message, indices);
    std::vector<float> values(indices.size());
    values_->read(message, values);
    for (std::size_t i = 0; i < indices.size(); ++i) dense[indices[i]] += factor * values[i];
  }

 private:
  bool sends_order() const { return values_->takes_a_curve() && !index_code_->keeps_order(); }

  std::int64_t bytes_with_values(std::int64_t index_bytes, std::int64_t values) const {
    const std::int64_t order =
        sends_order() ? (values * order_bits(static_cast<std::size_t>(values)) + 7) / 8 : 0;
    return sparse_header_bytes + 1 + index_bytes + order + values_->bytes(values);
  }

  // Returns false, after writing a part, if a value is not finite.
  bool append_entries(const SparseHeader& header, std::uint32_t sender,
                      std::span<const std::uint32_t> indices, std::span<const float> dense,
                      std::vector<std::uint8_t>& out) const {
    const auto is_finite = [dense](std::uint32_t index) { return std::isfinite(dense[index]); };
    if (!std::ranges::all_of(indices, is_finite)) return false;
    std::vector<std::uint32_t> coded(indices.begin(), indices.end());
    if (values_->takes_a_curve() && index_code_->keeps_order()) sort_by_value(coded, dense);
    coded = index_code_->append(coded, header.n, index_stream(header, sender), out);
    if (!std::ranges::all_of(coded, is_finite)) return false;
    if (sends_order()) coded = append_order(coded, dense, out);
    std::vector<float> values;
    values.reserve(coded.size());
    for (const std::uint32_t index : coded) values.push_back(dense[index]);
    RandomStream stream = index_stream(header, sender);
    stream.seed = ~stream.seed;  // different draws from those of the index code
    values_->append(values, stream, out);
    return true;
  }

  RandomStream index_stream(const SparseHeader& header, std::uint32_t sender) const {
    return {.seed = seed_, .step = header.step, .bucket = header.bucket, .rank = sender};
  }

  std::uint64_t seed_;
  std::unique_ptr<SparseCode> plain_;
  std::unique_ptr<DeepReduceIndexCode> index_code_;
  std::unique_ptr<ValueCode> values_;
};

}  // namespace

std::unique_ptr<SparseCode> make_deepreduce_code(const DeepReduceFormat& format) {
  return std::make_unique<DeepReduceCode>(format);
}

}  // namespace thinpipe::trainer
