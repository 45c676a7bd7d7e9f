// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/zip_archive.hh"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <zlib.h>

#include "common/support/exception.hh"
#include "common/support/utf8.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::string_view end_signature = "PK\x05\x06";
constexpr std::string_view end64_signature = "PK\x06\x06";
constexpr std::string_view locator64_signature = "PK\x06\x07";
constexpr std::string_view entry_signature = "PK\x01\x02";
constexpr std::string_view local_signature = "PK\x03\x04";
constexpr std::uint64_t end_bytes = 22;
constexpr std::uint64_t end64_bytes = 56;
constexpr std::uint64_t locator64_bytes = 20;
constexpr std::uint64_t entry_bytes = 46;
constexpr std::uint64_t local_bytes = 30;
constexpr std::uint64_t longest_comment = 65535;
constexpr std::uint64_t largest_directory = std::uint64_t{64} << 20U;
constexpr std::uint64_t read_at_once = std::uint64_t{1} << 20U;
constexpr std::uint64_t in_zip64 = 0xFFFFFFFF;  // of a field of 32 bits: ZIP64 has it
constexpr std::uint64_t in_zip64_count = 0xFFFF;
constexpr std::uint16_t zip64_extra = 1;
constexpr std::uint64_t method_stored = 0;
constexpr std::uint64_t method_deflated = 8;
constexpr std::uint64_t flag_encrypted = 1;
constexpr std::uint64_t deflate_ratio_at_most = 1032;  // zlib's technical details: no stream expands more

// Returns the little-endian number of `bytes` bytes at `at`, which must be inside.
std::uint64_t number_at(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8U | static_cast<unsigned char>(text[at + i]);
  return value;
}

class DirectoryReader {
 public:
  explicit DirectoryReader(const InputFile& file) : file_(file) {}

  std::vector<ZipMember> read() {
    find_directory();
    if (begin_ > file_.size() || size_ > file_.size() - begin_ || size_ > largest_directory) {
      fail("has a directory that is not inside it");
    }
    directory_ = read_text(begin_, size_);
    std::vector<ZipMember> members;
    std::set<std::string> names;
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < count_; ++i) {
      members.push_back(read_entry(at));
      if (!names.insert(members.back().name).second) fail("has two members named " + members.back().name);
    }
    if (at != directory_.size()) fail("has more in its directory than its members");
    return members;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{} is damaged or not a zip archive: it {}", file_.path(), printable(what)));
  }

  std::string read_text(std::uint64_t begin, std::uint64_t bytes) const {
    std::string text(static_cast<std::size_t>(bytes), '\0');
    file_.read(begin, text);
    return text;
  }

  // Reads the end record, and ZIP64's if there is one.
  void find_directory() {
    if (file_.size() < end_bytes) fail("is too short");
    const std::uint64_t tail_bytes = std::min(file_.size(), end_bytes + longest_comment);
    const std::string tail = read_text(file_.size() - tail_bytes, tail_bytes);
    // A comment may follow the record, which has the comment's length.
    std::size_t at = tail.rfind(end_signature);
    while (at != std::string::npos && !ends_with_comment(tail, at)) {
      at = at == 0 ? std::string::npos : tail.rfind(end_signature, at - 1);
    }
    if (at == std::string::npos) fail("has no directory at its end");
    if (number_at(tail, at + 4, 2) != 0 || number_at(tail, at + 6, 2) != 0) fail("is one part of several");
    count_ = number_at(tail, at + 10, 2);
    size_ = number_at(tail, at + 12, 4);
    begin_ = number_at(tail, at + 16, 4);
    if (count_ == in_zip64_count || size_ == in_zip64 || begin_ == in_zip64) {
      read_end64(file_.size() - tail_bytes + at);
    }
  }

  static bool ends_with_comment(std::string_view tail, std::size_t at) {
    return tail.size() - at >= end_bytes && number_at(tail, at + 20, 2) == tail.size() - at - end_bytes;
  }

  void read_end64(std::uint64_t end_begin) {
    if (end_begin < locator64_bytes) return;
    const std::string locator = read_text(end_begin - locator64_bytes, locator64_bytes);
    if (!locator.starts_with(locator64_signature)) return;  // not ZIP64: the counts are real, not markers
    const std::uint64_t begin = number_at(locator, 8, 8);
    if (begin > file_.size() || file_.size() - begin < end64_bytes) fail("has no ZIP64 record inside it");
    const std::string end64 = read_text(begin, end64_bytes);
    if (!end64.starts_with(end64_signature)) fail("has no ZIP64 record where it claims");
    count_ = number_at(end64, 32, 8);
    size_ = number_at(end64, 40, 8);
    begin_ = number_at(end64, 48, 8);
  }

  // Reads the entry at `at`, and moves `at` to the next one.
  ZipMember read_entry(std::size_t& at) const {
    const std::string_view rest = std::string_view(directory_).substr(at);
    if (rest.size() < entry_bytes || !rest.starts_with(entry_signature)) fail("has a damaged directory");
    const std::uint64_t name_bytes = number_at(rest, 28, 2);
    const std::uint64_t extra_bytes = number_at(rest, 30, 2);
    const std::uint64_t all_bytes = entry_bytes + name_bytes + extra_bytes + number_at(rest, 32, 2);
    if (all_bytes > rest.size()) fail("has a damaged directory");
    at += static_cast<std::size_t>(all_bytes);
    ZipMember member{.name = std::string(rest.substr(entry_bytes, name_bytes)),
                     .crc = static_cast<std::uint32_t>(number_at(rest, 16, 4)),
                     .stored_bytes = number_at(rest, 20, 4),
                     .bytes = number_at(rest, 24, 4),
                     .header_begin = number_at(rest, 42, 4)};
    read_zip64(rest.substr(entry_bytes + name_bytes, extra_bytes), member);
    const std::uint64_t method = number_at(rest, 10, 2);
    member.is_deflated = method == method_deflated;
    if ((number_at(rest, 8, 2) & flag_encrypted) != 0) fail("has an encrypted member " + member.name);
    if (method != method_stored && method != method_deflated) {
      fail(fmt::format("has a member {} compressed with method {}; supported are 0 and 8 (deflate)",
                       member.name, method));
    }
    check_sizes(member);
    return member;
  }

  // Fills in the fields that ZIP64 has, in its order.
  void read_zip64(std::string_view extra, ZipMember& member) const {
    while (extra.size() >= 4) {
      const std::uint64_t bytes = number_at(extra, 2, 2);
      if (bytes > extra.size() - 4) fail("has a damaged directory");
      if (number_at(extra, 0, 2) == zip64_extra) {
        std::string_view fields = extra.substr(4, bytes);
        for (std::uint64_t* field : {&member.bytes, &member.stored_bytes, &member.header_begin}) {
          if (*field != in_zip64 || fields.size() < 8) continue;
          *field = number_at(fields, 0, 8);
          fields.remove_prefix(8);
        }
      }
      extra.remove_prefix(4 + static_cast<std::size_t>(bytes));
    }
  }

  void check_sizes(const ZipMember& member) const {
    const bool is_inside = member.header_begin <= file_.size() &&
                           file_.size() - member.header_begin >= local_bytes &&
                           member.stored_bytes <= file_.size() - member.header_begin - local_bytes;
    if (!is_inside) fail("has a member that is not inside it: " + member.name);
    const bool is_possible = member.is_deflated ? member.bytes / deflate_ratio_at_most <= member.stored_bytes
                                                : member.bytes == member.stored_bytes;
    if (!is_possible) fail("has a member whose two sizes do not fit each other: " + member.name);
  }

  const InputFile& file_;
  std::string directory_;
  std::uint64_t begin_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t count_ = 0;
};

// Decompresses a member from the archive, piece by piece.
class Inflation {
 public:
  Inflation(const InputFile& file, std::uint64_t begin, std::uint64_t bytes)
      : file_(file), begin_(begin), end_(begin + bytes) {
    constexpr int raw = -15;  // without zlib's header
    if (inflateInit2(&stream_, raw) != Z_OK) throw Error("out of memory: cannot decompress " + file.path());
  }
  ~Inflation() { inflateEnd(&stream_); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
  Inflation(Inflation&&) = delete;
  Inflation& operator=(Inflation&&) = delete;

  // Returns whether the stream ends exactly when `out` is full.
  bool fill(std::span<char> out) {
    char beyond = 0;  // so that a stream that is too long is noticed
    int result = Z_OK;
    while (result == Z_OK) {
      if (stream_.avail_in == 0) read_piece();
      const bool is_full = out.empty();
      const std::size_t room = is_full ? 1 : std::min<std::size_t>(out.size(), read_at_once);
      stream_.next_out = reinterpret_cast<Bytef*>(is_full ? &beyond : out.data());
      stream_.avail_out = static_cast<uInt>(room);
      result = inflate(&stream_, Z_NO_FLUSH);
      const std::size_t made = room - stream_.avail_out;
      if (is_full && made > 0) return false;
      out = out.subspan(is_full ? 0 : made);
      if (result == Z_BUF_ERROR && begin_ < end_) result = Z_OK;
    }
    return result == Z_STREAM_END && out.empty() && stream_.avail_in == 0 && begin_ == end_;
  }

 private:
  void read_piece() {
    piece_.resize(static_cast<std::size_t>(std::min(end_ - begin_, read_at_once)));
    file_.read(begin_, piece_);
    begin_ += piece_.size();
    stream_.next_in = reinterpret_cast<Bytef*>(piece_.data());
    stream_.avail_in = static_cast<uInt>(piece_.size());
  }

  const InputFile& file_;
  std::uint64_t begin_;
  std::uint64_t end_;
  std::string piece_;
  z_stream stream_ = {};
};

}  // namespace

std::vector<ZipMember> read_zip_directory(const InputFile& file) {
  return DirectoryReader(file).read();
}

void read_zip_member(const InputFile& file, const ZipMember& member, std::span<char> out) {
  const auto fail = [&](std::string_view what) {
    throw Error(fmt::format("{}: member {} {}", file.path(), printable(member.name), what));
  };
  std::string local(static_cast<std::size_t>(local_bytes), '\0');
  file.read(member.header_begin, local);
  if (!local.starts_with(local_signature)) fail("does not begin where the archive's directory claims");
  const std::uint64_t begin =
      member.header_begin + local_bytes + number_at(local, 26, 2) + number_at(local, 28, 2);
  if (begin > file.size() || file.size() - begin < member.stored_bytes) fail("is truncated");
  if (!member.is_deflated) {
    file.read(begin, out);
  } else if (!Inflation(file, begin, member.stored_bytes).fill(out)) {
    fail("is damaged: it does not decompress to its size");
  }
  if (crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(out.data()), out.size()) != member.crc) {
    fail("is damaged: it does not have its checksum");
  }
}

}  // namespace thinpipe::trainer
