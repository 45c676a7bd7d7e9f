// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/idx_format.hh"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::uint8_t type_byte = 0x08;
constexpr unsigned read_at_most = 1U << 20U;
// zlib's technical details: no deflate stream expands more.
constexpr std::int64_t deflate_ratio_at_most = 1032;

struct Close {
  void operator()(gzFile_s* file) const { gzclose(file); }  // opened for reading: no data can be lost
};

// A file that zlib decompresses, or reads unchanged if it is not compressed.
class GzipReader {
 public:
  explicit GzipReader(const std::string& path) : path_(path) {
    FileDescriptor file = open_regular_file(path);
    file_.reset(gzdopen(file.get(), "rb"));
    if (!file_) throw Error("out of memory: cannot decompress " + path);
    file.release();  // closed with file_
  }

  // Reads until `out` is full or the file ends; returns the number of bytes read.
  std::size_t read(std::span<std::uint8_t> out) {
    std::size_t done = 0;
    while (done < out.size()) {
      const auto wanted = static_cast<unsigned>(std::min<std::size_t>(out.size() - done, read_at_most));
      const int got = gzread(file_.get(), out.data() + done, wanted);
      check();
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  void check() {
    int code = Z_OK;
    const char* message = gzerror(file_.get(), &code);
    if (code == Z_ERRNO) throw SystemError("read " + path_, errno);
    if (code == Z_BUF_ERROR) throw Error(path_ + ": truncated: the compressed data ends too early");
    if (code != Z_OK && code != Z_STREAM_END) throw Error(fmt::format("{}: corrupt: {}", path_, message));
  }

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

std::uint32_t big_endian(std::span<const std::uint8_t> bytes) {
  std::uint32_t value = 0;
  for (const std::uint8_t byte : bytes) value = value << 8U | byte;
  return value;
}

// Reads the dimensions, which follow the magic number, each as a big-endian uint32.
std::vector<std::int64_t> read_shape(GzipReader& file, const std::string& path, std::int64_t dimensions) {
  std::vector<std::uint8_t> header(static_cast<std::size_t>(4 * dimensions));
  if (file.read(header) < header.size()) {
    throw Error(fmt::format("{}: truncated inside its header of {} dimensions", path, dimensions));
  }
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < header.size(); i += 4) {
    shape.push_back(big_endian(std::span(header).subspan(i, 4)));
  }
  return shape;
}

// Returns the number of elements. Rejects a damaged header before its size is allocated.
std::int64_t checked_count(const std::string& path, const std::vector<std::int64_t>& shape) {
  const auto most = static_cast<std::int64_t>(std::filesystem::file_size(path)) * deflate_ratio_at_most;
  std::int64_t count = 1;
  std::int64_t stride = 1;  // LibTorch multiplies the sizes even if one of them is 0
  for (const std::int64_t size : shape) {
    const std::int64_t factor = std::max<std::int64_t>(size, 1);
    if (stride > most / factor) {
      throw Error(fmt::format("{}: its header claims {} elements, which a file of its size cannot hold", path,
                              fmt::join(shape, " x ")));
    }
    stride *= factor;
    count *= size;
  }
  return count;
}

}  // namespace

void read_idx_bytes(const std::string& path, std::int64_t dimensions, const AllocateElements& allocate) {
  GzipReader file(path);
  std::array<std::uint8_t, 4> magic{};
  const std::size_t got = file.read(magic);
  const std::array<std::uint8_t, 4> expected = {0, 0, type_byte, static_cast<std::uint8_t>(dimensions)};
  if (got < magic.size() || magic != expected) {
    throw Error(
        fmt::format("{}: not an IDX file of bytes in {} dimensions: begins with {:02x}, expected {:02x}",
                    path, dimensions, fmt::join(std::span(magic).first(got), " "), fmt::join(expected, " ")));
  }
  const std::vector<std::int64_t> shape = read_shape(file, path, dimensions);
  const std::int64_t count = checked_count(path, shape);
  const std::size_t read = file.read(allocate(shape));
  if (read < static_cast<std::size_t>(count)) {
    throw Error(
        fmt::format("{}: truncated: holds {} of the {} elements its header claims", path, read, count));
  }
  // Reading one byte more also makes zlib verify the checksum at the end.
  std::uint8_t beyond = 0;
  if (file.read({&beyond, 1}) != 0) {
    throw Error(fmt::format("{}: longer than the {} elements its header claims", path, count));
  }
}

}  // namespace thinpipe::trainer
