// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/images/jpeg.hh"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <string>

#include <fmt/format.h>
// In this order, which is also the alphabet's: the names of errors depend on the library's configuration.
#include <jconfig.h>
#include <jerror.h>
#include <jpeglib.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

// Each scan of a progressive image passes over all of its pixels, so a small file with many scans would take
// minutes. Encoders write about ten.
constexpr int most_scans = 200;

constexpr std::size_t cmyk_channels = 4;

// Warnings after which the decoder goes on with invented pixels.
bool loses_pixels(int warning) {
  switch (warning) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
      return true;
    default:
      return false;
  }
}

// libjpeg reports errors through callbacks that must not return. They jump back to guarded() below.
struct ErrorHandler {
  jpeg_error_mgr manager{};  // first: libjpeg passes its address, which is also this object's
  std::jmp_buf jump{};
  std::array<char, JMSG_LENGTH_MAX> message{};
};

ErrorHandler& handler_of(j_common_ptr decoder) {
  return *reinterpret_cast<ErrorHandler*>(decoder->err);
}

[[noreturn]] void on_error(j_common_ptr decoder) {
  ErrorHandler& handler = handler_of(decoder);
  handler.manager.format_message(decoder, handler.message.data());
  std::longjmp(handler.jump, 1);
}

void on_message(j_common_ptr decoder, int level) {
  if (level < 0 && loses_pixels(handler_of(decoder).manager.msg_code)) on_error(decoder);
}

void on_progress(j_common_ptr decoder) {
  if (!decoder->is_decompressor) return;
  if (reinterpret_cast<j_decompress_ptr>(decoder)->input_scan_number <= most_scans) return;
  ErrorHandler& handler = handler_of(decoder);
  std::snprintf(handler.message.data(), handler.message.size(), "more than %d scans", most_scans);
  std::longjmp(handler.jump, 1);
}

class JpegReader {
 public:
  explicit JpegReader(std::string_view file) {
    decoder_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = on_error;
    errors_.manager.emit_message = on_message;
    progress_.progress_monitor = on_progress;
    // Otherwise the destructor would not run if this fails.
    try {
      guarded([&] {
        jpeg_create_decompress(&decoder_);
        decoder_.progress = &progress_;
        jpeg_mem_src(&decoder_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
      });
    } catch (...) {
      jpeg_destroy_decompress(&decoder_);
      throw;
    }
  }
  ~JpegReader() { jpeg_destroy_decompress(&decoder_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  JpegReader(JpegReader&&) = delete;
  JpegReader& operator=(JpegReader&&) = delete;

  // Reads up to the first pixel.
  void read_header() {
    guarded([&] { jpeg_read_header(&decoder_, TRUE); });
  }

  std::int64_t width() const { return decoder_.image_width; }
  std::int64_t height() const { return decoder_.image_height; }
  bool is_cmyk() const { return decoder_.num_components == static_cast<int>(cmyk_channels); }

  // Decodes into rows of that many bytes each.
  void read_pixels(J_COLOR_SPACE colours, std::uint8_t* pixels, std::size_t row_bytes) {
    guarded([&] {
      decoder_.out_color_space = colours;
      jpeg_start_decompress(&decoder_);
      while (decoder_.output_scanline < decoder_.output_height) {
        JSAMPROW row = pixels + decoder_.output_scanline * row_bytes;
        jpeg_read_scanlines(&decoder_, &row, 1);
      }
    });
  }

 private:
  // Calls functions of libjpeg. A jump out of them skips destructors, so `calls` may create no objects that
  // have one.
  template <class Calls>
  void guarded(const Calls& calls) {
    if (setjmp(errors_.jump) != 0) throw Error(errors_.message.data());
    calls();
  }

  ErrorHandler errors_;
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct decoder_{};
};

void cmyk_to_rgb(const std::vector<std::uint8_t>& cmyk, std::vector<std::uint8_t>& rgb) {
  std::size_t to = 0;
  for (std::size_t from = 0; from < cmyk.size(); from += cmyk_channels) {
    const unsigned black = cmyk[from + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      rgb[to++] = static_cast<std::uint8_t>((2 * cmyk[from + c] * black + 255) / (2 * 255));
    }
  }
}

}  // namespace

bool begins_as_jpeg(std::string_view file) {
  return file.starts_with("\xff\xd8\xff");
}

Image decode_jpeg(std::string_view file, const ImageLimits& limits) {
  JpegReader reader(file);
  reader.read_header();
  Image image{.width = reader.width(), .height = reader.height(), .channels = 3, .pixels = {}};
  if (image.width * image.height > limits.pixels) {
    throw Error(fmt::format("{} x {} pixels, more than {}", image.width, image.height, limits.pixels));
  }
  const auto width = static_cast<std::size_t>(image.width);
  const auto height = static_cast<std::size_t>(image.height);
  image.pixels.resize(3 * width * height);
  if (reader.is_cmyk()) {
    std::vector<std::uint8_t> cmyk(cmyk_channels * width * height);
    reader.read_pixels(JCS_CMYK, cmyk.data(), cmyk_channels * width);
    cmyk_to_rgb(cmyk, image.pixels);
  } else {
    reader.read_pixels(JCS_RGB, image.pixels.data(), 3 * width);
  }
  return image;
}

}  // namespace thinpipe::trainer
