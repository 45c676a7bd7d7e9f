// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/deflate.hh"

#include <algorithm>
#include <new>

#include <fmt/format.h>
#include <zlib.h>

#include "trainer/collectives/collective_error.hh"

namespace thinpipe::trainer {
namespace {

constexpr int raw_stream = -15;  // zlib's number for no header and the largest window
constexpr int usual_memory = 8;  // its default; max_deflated_bytes() depends on both
constexpr std::size_t most_at_once = std::size_t{1} << 30U;  // zlib counts in 32 bits

// A z_stream with the function that ends it.
class ZlibStream {
 public:
  ZlibStream(int result, z_stream& stream, int (*end)(z_stream*)) : stream_(stream), end_(end) {
    if (result != Z_OK) throw std::bad_alloc();
  }
  ~ZlibStream() { end_(&stream_); }
  ZlibStream(const ZlibStream&) = delete;
  ZlibStream& operator=(const ZlibStream&) = delete;
  ZlibStream(ZlibStream&&) = delete;
  ZlibStream& operator=(ZlibStream&&) = delete;

  // Points zlib at the beginnings of `in` and of `out`.
  void offer(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) {
    stream_.next_in = const_cast<Bytef*>(in.data());  // zlib only reads from it
    stream_.avail_in = static_cast<uInt>(std::min(in.size(), most_at_once));
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(std::min(out.size(), most_at_once));
  }

 private:
  z_stream& stream_;
  int (*end_)(z_stream*);
};

}  // namespace

// zlib's deflateBound() for its default window and memory.
std::int64_t max_deflated_bytes(std::int64_t bytes) {
  return bytes + (bytes >> 12) + (bytes >> 14) + (bytes >> 25) + 13;
}

void append_deflated(std::span<const std::uint8_t> bytes, DeflateStages stages,
                     std::vector<std::uint8_t>& out) {
  z_stream stream = {};
  const int strategy = stages == DeflateStages::huffman ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY;
  ZlibStream owned(
      deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, raw_stream, usual_memory, strategy), stream,
      deflateEnd);
  const std::size_t begin = out.size();
  out.resize(begin + static_cast<std::size_t>(max_deflated_bytes(std::ssize(bytes))));
  std::span<std::uint8_t> room = std::span(out).subspan(begin);
  for (int result = Z_OK; result == Z_OK;) {
    owned.offer(bytes, room);
    const bool is_last = bytes.size() <= most_at_once;
    const uInt offered = stream.avail_in;
    const uInt free = stream.avail_out;
    result = deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH);
    bytes = bytes.subspan(offered - stream.avail_in);
    room = room.subspan(free - stream.avail_out);
  }
  out.resize(out.size() - room.size());
}

std::vector<std::uint8_t> read_deflated(std::span<const std::uint8_t>& in, std::size_t most) {
  z_stream stream = {};
  ZlibStream owned(inflateInit2(&stream, raw_stream), stream, inflateEnd);
  std::vector<std::uint8_t> out(most + 1);  // one more byte, so that a stream that is too long is noticed
  std::span<std::uint8_t> room = out;
  int result = Z_OK;
  while (result == Z_OK && !room.empty()) {
    owned.offer(in, room);
    const uInt offered = stream.avail_in;
    const uInt free = stream.avail_out;
    result = inflate(&stream, Z_NO_FLUSH);  // Z_BUF_ERROR if `in` ends before the stream
    in = in.subspan(offered - stream.avail_in);
    room = room.subspan(free - stream.avail_out);
  }
  if (result != Z_STREAM_END || room.empty()) {
    throw CollectiveError(
        fmt::format("a compressed part of a sparse message is damaged or has more than {} bytes", most));
  }
  out.resize(out.size() - room.size());
  return out;
}

}  // namespace thinpipe::trainer
