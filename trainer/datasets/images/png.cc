// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/images/png.hh"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <png.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

// Also limits the memory for a chunk of text or of a colour profile, which only wastes it.
constexpr png_alloc_size_t largest_chunk_bytes = png_alloc_size_t{8} << 20;
// zlib's technical details: no deflate stream expands more.
constexpr std::size_t deflate_ratio_at_most = 1032;

constexpr std::string_view signature("\x89PNG\r\n\x1a\n", 8);

struct Source {
  std::string_view rest;
  std::array<char, 200> message{};
};

[[noreturn]] void on_error(png_structp reader, png_const_charp message) {
  auto& source = *static_cast<Source*>(png_get_error_ptr(reader));
  std::snprintf(source.message.data(), source.message.size(), "%s", message);
  png_longjmp(reader, 1);
}

// libpng warns of damage in chunks that no pixel depends on.
void on_warning(png_structp /*reader*/, png_const_charp /*message*/) {}

void on_read(png_structp reader, png_bytep to, std::size_t size) {
  auto& source = *static_cast<Source*>(png_get_io_ptr(reader));
  if (source.rest.size() < size) png_error(reader, "truncated: the file ends too early");
  std::memcpy(to, source.rest.data(), size);
  source.rest.remove_prefix(size);
}

class PngReader {
 public:
  explicit PngReader(std::string_view file) : source_{file, {}} {
    reader_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source_, on_error, on_warning);
    info_ = reader_ == nullptr ? nullptr : png_create_info_struct(reader_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&reader_, nullptr, nullptr);
      throw Error("out of memory: cannot decode a PNG image");
    }
    png_set_read_fn(reader_, &source_, on_read);
    png_set_chunk_malloc_max(reader_, largest_chunk_bytes);
  }
  ~PngReader() { png_destroy_read_struct(&reader_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  PngReader(PngReader&&) = delete;
  PngReader& operator=(PngReader&&) = delete;

  // Reads up to the first pixel.
  void read_header() {
    guarded([&] { png_read_info(reader_, info_); });
  }

  std::int64_t width() const { return png_get_image_width(reader_, info_); }
  std::int64_t height() const { return png_get_image_height(reader_, info_); }
  // Returns the bytes of a row as stored, before the conversion to red, green and blue.
  std::size_t stored_row_bytes() const { return png_get_rowbytes(reader_, info_); }

  // Decodes into rows of red, green and blue, 8 bits each, then reads the rest of the file.
  void read_pixels(png_bytepp rows) {
    guarded([&] {
      png_set_expand(reader_);  // palettes, and grey of less than 8 bits
      png_set_strip_16(reader_);
      png_set_strip_alpha(reader_);
      png_set_gray_to_rgb(reader_);
      png_set_interlace_handling(reader_);
      png_read_update_info(reader_, info_);
      if (png_get_rowbytes(reader_, info_) != 3 * std::size_t{png_get_image_width(reader_, info_)})
        png_error(reader_, "cannot be converted to red, green and blue");
      png_read_image(reader_, rows);
      png_read_end(reader_, nullptr);
    });
  }

 private:
  // Calls functions of libpng. A jump out of them skips destructors, so `calls` may create no objects that
  // have one.
  template <class Calls>
  void guarded(const Calls& calls) {
    if (setjmp(png_jmpbuf(reader_)) != 0) throw Error(source_.message.data());
    calls();
  }

  Source source_;
  png_structp reader_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

bool begins_as_png(std::string_view file) {
  return file.starts_with(signature);
}

Image decode_png(std::string_view file, const ImageLimits& limits) {
  PngReader reader(file);
  reader.read_header();
  Image image{.width = reader.width(), .height = reader.height(), .channels = 3, .pixels = {}};
  if (image.width > limits.pixels / image.height) {
    throw Error(fmt::format("{} x {} pixels, more than {}", image.width, image.height, limits.pixels));
  }
  const auto height = static_cast<std::size_t>(image.height);
  const std::size_t row_bytes = 3 * static_cast<std::size_t>(image.width);
  if (height * reader.stored_row_bytes() / deflate_ratio_at_most > file.size()) {
    throw Error(fmt::format("truncated: a file of {} bytes cannot hold {} x {} pixels", file.size(),
                            image.width, image.height));
  }
  image.pixels.resize(height * row_bytes);
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) rows[y] = image.pixels.data() + y * row_bytes;
  reader.read_pixels(rows.data());
  return image;
}

}  // namespace thinpipe::trainer
