// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/npy_header.hh"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "common/support/exception.hh"
#include "common/support/utf8.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t longest_shown_type = 40;
constexpr std::size_t longest_shown_header = 200;

struct NpyType {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::array<NpyType, 8> npy_types = {
    {{"u1", 1}, {"i1", 1}, {"i2", 2}, {"i4", 4}, {"i8", 8}, {"f2", 2}, {"f4", 4}, {"f8", 8}}};

// The members of the literal; nullopt until read.
struct Literal {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, padded with spaces and ended by a
// newline.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  Literal read() {
    if (!text_.ends_with('\n')) fail("does not end in a newline");
    text_.remove_suffix(1);
    Literal literal;
    expect('{');
    while (!take('}')) {
      read_member(literal);
      if (take(',')) continue;
      expect('}');
      break;
    }
    skip_spaces();
    if (at_ != text_.size()) fail("goes on after its dict");
    if (!literal.descr || !literal.fortran_order || !literal.shape) {
      fail("lacks one of descr, fortran_order and shape");
    }
    return literal;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}: its header {}: {}", source_, what,
                            printable(text_.substr(0, longest_shown_header))));
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  // Skips spaces, then the character if it is next.
  bool take(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail(fmt::format("has no {} at position {}", wanted, at_));
  }

  bool take_word(std::string_view word) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void read_member(Literal& literal) {
    const std::string_view key = read_string();
    expect(':');
    const auto read_once = [&](auto& member, auto value) {
      if (member) fail(fmt::format("has the key {} twice", key));
      member = std::move(value);
    };
    if (key == "descr") {
      if (take('[')) {
        throw Error(source_ + ": has elements of several fields; save one array per field");
      }
      read_once(literal.descr, read_string());
    } else if (key == "fortran_order") {
      read_once(literal.fortran_order, read_boolean());
    } else if (key == "shape") {
      read_once(literal.shape, read_shape());
    } else {
      fail("has an unknown key");
    }
  }

  std::string_view read_string() {
    const char quote = take('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("has a string without an end");
    const std::string_view string = text_.substr(at_, end - at_);
    if (string.find('\\') != std::string_view::npos) fail("has a string with an escape sequence");
    at_ = end + 1;
    return string;
  }

  bool read_boolean() {
    if (take_word("True")) return true;
    if (!take_word("False")) fail("has a fortran_order that is neither True nor False");
    return false;
  }

  // (), (3,), (3, 4) or (3, 4,); (3) is a number in Python.
  std::vector<std::int64_t> read_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    bool comma = true;
    while (!take(')')) {
      if (!comma) fail("has a shape without commas");
      shape.push_back(read_size());
      comma = take(',');
    }
    if (shape.size() == 1 && !comma) fail("has a shape that is not a tuple");
    return shape;
  }

  std::int64_t read_size() {
    skip_spaces();
    const std::size_t begin = at_;
    std::int64_t size = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (__builtin_mul_overflow(size, 10, &size) || __builtin_add_overflow(size, text_[at_] - '0', &size)) {
        fail("has a shape that is too large");
      }
    }
    if (at_ == begin) fail("has a shape that is not of nonnegative integers");
    if (text_[begin] == '0' && at_ - begin > 1) fail("has a size that begins with 0");
    return size;
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
};

const NpyType& npy_type(std::string_view descr, const std::string& source) {
  if (descr.size() < 2) throw Error(fmt::format("{}: has no element type", source));
  const auto known = std::ranges::find(npy_types, descr.substr(1), &NpyType::name);
  const bool is_known = known != npy_types.end();
  // NumPy writes | for types of one byte, which have no order.
  if (is_known && (descr[0] == '<' || (descr[0] == '|' && known->bytes == 1))) return *known;
  const std::string shown = printable(descr.substr(0, longest_shown_type));
  if (is_known && descr[0] == '>') {
    throw Error(fmt::format("{}: has big-endian elements ({}); save array.astype('<{}')", source, shown,
                            known->name));
  }
  throw Error(
      fmt::format("{}: has elements of type {}; supported are u1, i1, i2, i4, i8, f2, f4 and f8, "
                  "little-endian: save array.astype(...)",
                  source, shown));
}

std::uint64_t bytes_of(const std::vector<std::int64_t>& shape, std::uint64_t element_bytes,
                       const std::string& source) {
  std::uint64_t bytes = element_bytes;
  std::int64_t stride =
      static_cast<std::int64_t>(element_bytes);  // also LibTorch's, which ignores sizes of 0
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes) ||
        __builtin_mul_overflow(stride, std::max<std::int64_t>(size, 1), &stride)) {
      throw Error(source + ": its header claims an array that is too large");
    }
  }
  return bytes;
}

}  // namespace

NpyHeader read_npy_header(std::string_view beginning, std::uint64_t bytes, const std::string& source) {
  if (!beginning.starts_with(magic)) throw Error(source + ": is not a .npy file of NumPy");
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(beginning[i]));
  };
  if (beginning.size() < 12) throw Error(source + ": is truncated");
  const std::uint64_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0) {
    throw Error(fmt::format("{}: has version {}.{} of the .npy format; supported are 1.0, 2.0 and 3.0",
                            source, version, byte(7)));
  }
  const std::uint64_t length =
      version == 1 ? byte(8) | byte(9) << 8U : byte(8) | byte(9) << 8U | byte(10) << 16U | byte(11) << 24U;
  const std::uint64_t header_begin = version == 1 ? 10 : 12;
  if (length > bytes - header_begin) throw Error(source + ": is truncated inside its header");
  if (header_begin + length > beginning.size()) {
    throw Error(
        fmt::format("{}: has a header of {} bytes, too long for an array of numbers", source, length));
  }
  const Literal literal = LiteralReader(beginning.substr(header_begin, length), source).read();
  const NpyType& type = npy_type(*literal.descr, source);
  if (*literal.fortran_order) {
    throw Error(source + ": is in Fortran order; save numpy.ascontiguousarray(array)");
  }
  NpyHeader header{.type = type.name,
                   .shape = *literal.shape,
                   .elements_begin = header_begin + length,
                   .elements_bytes = bytes_of(*literal.shape, type.bytes, source)};
  const std::uint64_t found = bytes - header.elements_begin;
  if (found != header.elements_bytes) {
    throw Error(fmt::format("{}: {}: {} bytes of elements, but its header claims {}", source,
                            found < header.elements_bytes ? "is truncated" : "is too long", found,
                            header.elements_bytes));
  }
  return header;
}

}  // namespace thinpipe::trainer
