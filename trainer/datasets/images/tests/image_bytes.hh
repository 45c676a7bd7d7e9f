// SPDX-License-Identifier: Apache-2.0
// Encodes images for tests, with the libraries that decode them.
#pragma once

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <jpeglib.h>
#include <png.h>

namespace thinpipe::trainer {

struct PngForm {
  unsigned width = 0;
  unsigned height = 0;
  int colour_type = PNG_COLOR_TYPE_RGB;
  int bit_depth = 8;
  bool interlaced = false;
  std::vector<png_color> palette = {};
};

// `rows` are the bytes of all rows, as PNG stores them.
inline std::string encode_png(const PngForm& form, std::string rows) {
  std::string file;
  png_structp writer = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(writer);
  if (setjmp(png_jmpbuf(writer)) != 0) std::abort();
  png_set_write_fn(
      writer, &file,
      [](png_structp to, png_bytep bytes, std::size_t size) {
        static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<char*>(bytes), size);
      },
      nullptr);
  png_set_IHDR(writer, info, form.width, form.height, form.bit_depth, form.colour_type,
               form.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (!form.palette.empty()) {
    png_set_PLTE(writer, info, form.palette.data(), static_cast<int>(form.palette.size()));
  }
  png_write_info(writer, info);
  std::vector<png_bytep> pointers;
  for (std::size_t y = 0; y < form.height; ++y) {
    pointers.push_back(reinterpret_cast<png_bytep>(rows.data()) + y * (rows.size() / form.height));
  }
  png_write_image(writer, pointers.data());
  png_write_end(writer, info);
  png_destroy_write_struct(&writer, &info);
  return file;
}

// Returns an RGB image.
inline std::string encode_png(unsigned width, unsigned height, const std::vector<std::uint8_t>& pixels) {
  return encode_png({.width = width, .height = height}, std::string(pixels.begin(), pixels.end()));
}

struct JpegForm {
  unsigned width = 0;
  unsigned height = 0;
  int channels = 3;
  J_COLOR_SPACE colours = JCS_RGB;
  bool progressive = false;
  int quality = 95;
};

inline std::string encode_jpeg(const JpegForm& form, std::vector<std::uint8_t> pixels) {
  jpeg_compress_struct writer{};
  jpeg_error_mgr errors{};
  writer.err = jpeg_std_error(&errors);
  jpeg_create_compress(&writer);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&writer, &buffer, &size);
  writer.image_width = form.width;
  writer.image_height = form.height;
  writer.input_components = form.channels;
  writer.in_color_space = form.colours;
  jpeg_set_defaults(&writer);
  jpeg_set_quality(&writer, form.quality, TRUE);
  if (form.progressive) jpeg_simple_progression(&writer);
  jpeg_start_compress(&writer, TRUE);
  while (writer.next_scanline < writer.image_height) {
    JSAMPROW row =
        pixels.data() + std::size_t{writer.next_scanline} * form.width * static_cast<unsigned>(form.channels);
    jpeg_write_scanlines(&writer, &row, 1);
  }
  jpeg_finish_compress(&writer);
  std::string file(reinterpret_cast<char*>(buffer), size);
  std::free(buffer);
  jpeg_destroy_compress(&writer);
  return file;
}

// A smooth image in red, green and blue, which JPEG keeps almost unchanged.
inline std::vector<std::uint8_t> gradient(unsigned width, unsigned height) {
  std::vector<std::uint8_t> pixels;
  for (unsigned y = 0; y < height; ++y) {
    for (unsigned x = 0; x < width; ++x) {
      pixels.push_back(static_cast<std::uint8_t>(255 * x / width));
      pixels.push_back(static_cast<std::uint8_t>(255 * y / height));
      pixels.push_back(100);
    }
  }
  return pixels;
}

}  // namespace thinpipe::trainer
