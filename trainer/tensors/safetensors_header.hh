// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file: its length (uint64, little-endian), then JSON: each tensor's dtype, shape
// and position. https://huggingface.co/docs/safetensors
// Without LibTorch, so that it can be fuzzed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/base/input_file.hh"

namespace thinpipe::trainer {

constexpr std::uint64_t safetensors_length_bytes = 8;  // size of the header's length
constexpr std::string_view safetensors_metadata_key = "__metadata__";

struct SafetensorsEntry {
  std::string name;
  std::string_view dtype;  // one of the supported types, such as "BF16"
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // in bytes from the first element
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::uint64_t elements_begin = 0;  // in the file
  std::vector<SafetensorsEntry> entries;
};

// Strict: the tensors must cover all bytes after the header, each byte once. Throws Error naming the path and
// the faulty tensor, if any.
SafetensorsHeader read_safetensors_header(const InputFile& file);

}  // namespace thinpipe::trainer
