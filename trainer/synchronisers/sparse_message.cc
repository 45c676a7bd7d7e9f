#include "trainer/synchronisers/sparse_message.hh"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

constexpr std::uint16_t kMagic = 0x7450;
constexpr std::uint8_t kVersion = 1;

struct WireHeader {
  std::uint16_t magic;
  std::uint8_t method;
  std::uint8_t version;
  std::uint32_t bucket;
  std::uint32_t step;
  std::uint32_t n;
  std::uint32_t count;
};
static_assert(sizeof(WireHeader) == kSparseHeaderBytes);

}  // namespace

torch::Tensor encode_sparse(const SparseHeader& header, std::span<const std::uint32_t> indices,
                            std::span<const float> dense) {
  torch::Tensor message =
      torch::empty({sparse_message_bytes(static_cast<std::int64_t>(indices.size()))}, torch::kByte);
  auto* out = message.data_ptr<std::uint8_t>();
  const WireHeader wire{kMagic, header.method, kVersion, header.bucket, header.step, header.n, header.count};
  std::memcpy(out, &wire, sizeof wire);
  out += sizeof wire;
  std::memcpy(out, indices.data(), indices.size_bytes());
  auto* values = reinterpret_cast<float*>(out + indices.size_bytes());
  for (std::size_t i = 0; i < indices.size(); ++i) values[i] = dense[indices[i]];
  return message;
}

void add_sparse(const torch::Tensor& message, const SparseHeader& expected, std::span<float> dense) {
  const auto* in = message.data_ptr<std::uint8_t>();
  WireHeader wire{};
  if (message.numel() >= kSparseHeaderBytes) std::memcpy(&wire, in, sizeof wire);
  const SparseHeader header{wire.method, wire.bucket, wire.step, wire.n, wire.count};
  if (wire.magic != kMagic || wire.version != kVersion || header != expected ||
      message.numel() != sparse_message_bytes(header.count)) {
    throw CollectiveError(
        fmt::format("sparse message of {} bytes is for method {}, bucket {}, step {}, {} of {} entries; "
                    "expected method {}, "
                    "bucket {}, step {}, {} of {} entries",
                    message.numel(), header.method, header.bucket, header.step, header.count, header.n,
                    expected.method, expected.bucket, expected.step, expected.count, expected.n));
  }
  const auto* indices = reinterpret_cast<const std::uint32_t*>(in + sizeof wire);
  const auto* values = reinterpret_cast<const float*>(indices + header.count);
  for (std::uint32_t i = 0; i < header.count; ++i) {
    if (indices[i] >= header.n) {
      throw CollectiveError(
          fmt::format("sparse message for bucket {} has index {}, but the bucket has {} elements",
                      header.bucket, indices[i], header.n));
    }
    dense[indices[i]] += values[i];
  }
}

}  // namespace thinpipe::trainer
