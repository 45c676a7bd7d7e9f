// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/sparse_code.hh"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "trainer/collectives/collective_error.hh"

namespace thinpipe::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

constexpr std::uint16_t magic = 0x7450;
constexpr std::uint8_t version = 2;

struct WireHeader {
  std::uint16_t magic;
  std::uint8_t method;
  std::uint8_t version;
  std::uint32_t bucket;
  std::uint32_t step;
  std::uint32_t n;
  std::uint32_t count;
};
static_assert(sizeof(WireHeader) == sparse_header_bytes);

class PlainSparseCode : public SparseCode {
 public:
  explicit PlainSparseCode(std::unique_ptr<IndexCode> indices) : indices_(std::move(indices)) {}

  std::int64_t message_bytes(std::int64_t n, std::int64_t count) const override {
    return sparse_header_bytes + indices_->bytes(n, count) + 4 * count;
  }

  std::int64_t expected_bytes(std::int64_t n, std::int64_t count) const override {
    return sparse_header_bytes + indices_->expected_bytes(n, count) + 4 * count;
  }

  bool has_fixed_size() const override { return indices_->has_fixed_size(); }
  bool is_lossless() const override { return true; }

  std::vector<std::uint8_t> encode(const SparseHeader& header, std::uint32_t /*sender*/,
                                   std::span<const std::uint32_t> indices,
                                   std::span<const float> dense) const override {
    std::vector<std::uint8_t> bytes;
    bytes.reserve(static_cast<std::size_t>(message_bytes(header.n, std::ssize(indices))));
    append_sparse_header(header, static_cast<std::uint32_t>(indices.size()), bytes);
    indices_->append(indices, header.n, bytes);
    const std::size_t end = bytes.size();
    bytes.resize(end + 4 * indices.size());
    std::uint8_t* next = bytes.data() + end;
    for (const std::uint32_t index : indices) {
      std::memcpy(next, &dense[index], sizeof(float));
      next += sizeof(float);
    }
    return bytes;
  }

  void add(std::span<const std::uint8_t> message, const SparseHeader& expected, std::uint32_t /*sender*/,
           float factor, std::span<float> dense) const override {
    const std::uint32_t count = read_sparse_header(expected, message);
    std::vector<std::uint32_t> indices;
    message = message.subspan(indices_->read(message, expected.n, count, indices));
    if (message.size() != std::size_t{4} * count) {
      throw CollectiveError(
          fmt::format("a sparse message has {} bytes for {} values", message.size(), count));
    }
    for (std::size_t i = 0; i < indices.size(); ++i) {
      float value = 0;
      std::memcpy(&value, &message[4 * i], sizeof value);
      dense[indices[i]] += factor * value;
    }
  }

 private:
  std::unique_ptr<IndexCode> indices_;
};

}  // namespace

std::unique_ptr<SparseCode> make_plain_sparse_code(const std::string& index_code) {
  return std::make_unique<PlainSparseCode>(make_index_code(index_code));
}

void append_sparse_header(const SparseHeader& header, std::uint32_t count, std::vector<std::uint8_t>& out) {
  const WireHeader wire{magic, header.method, version, header.bucket, header.step, header.n, count};
  const auto bytes = std::bit_cast<std::array<std::uint8_t, sizeof wire>>(wire);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::uint32_t read_sparse_header(const SparseHeader& expected, std::span<const std::uint8_t>& message) {
  WireHeader wire{};
  if (message.size() >= sizeof wire) std::memcpy(&wire, message.data(), sizeof wire);
  const SparseHeader header{wire.method, wire.bucket, wire.step, wire.n};
  if (wire.magic != magic || wire.version != version || header != expected || wire.count > wire.n) {
    throw CollectiveError(
        fmt::format("sparse message of {} bytes is for method {}, bucket {}, step {}, {} of {} entries; "
                    "expected method {}, bucket {}, step {}, some of {} entries",
                    message.size(), header.method, header.bucket, header.step, wire.count, header.n,
                    expected.method, expected.bucket, expected.step, expected.n));
  }
  message = message.subspan(sizeof wire);
  return wire.count;
}

}  // namespace thinpipe::trainer
