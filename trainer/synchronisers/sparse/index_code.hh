// SPDX-License-Identifier: Apache-2.0
// Codes for the indices of a sparse message's entries. The kept fraction decides which is shortest: a bitmap
// from 1/32 of the entries on, Golomb's code below.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace thinpipe::trainer {

class IndexCode {
 public:
  IndexCode() = default;
  virtual ~IndexCode() = default;
  IndexCode(const IndexCode&) = delete;
  IndexCode& operator=(const IndexCode&) = delete;
  IndexCode(IndexCode&&) = delete;
  IndexCode& operator=(IndexCode&&) = delete;

  // Returns the bytes of `count` indices below n; an upper bound unless has_fixed_size().
  virtual std::int64_t bytes(std::int64_t n, std::int64_t count) const = 0;
  virtual bool has_fixed_size() const { return true; }

  // Returns the expected bytes if all sets of that size are equally likely, for plans.
  virtual std::int64_t expected_bytes(std::int64_t n, std::int64_t count) const { return bytes(n, count); }

  // Appends the code of `indices`, ascending and below n.
  virtual void append(std::span<const std::uint32_t> indices, std::uint32_t n,
                      std::vector<std::uint8_t>& out) const = 0;

  // Reads `count` indices, ascending and below n, from the beginning of `in`. Returns how many bytes they
  // took. Throws CollectiveError if the bytes are not such a code.
  virtual std::size_t read(std::span<const std::uint8_t> in, std::uint32_t n, std::uint32_t count,
                           std::vector<std::uint32_t>& indices) const = 0;
};

// Codes by name:
//   u32         4 bytes each
//   u16         2 bytes each, within blocks of 65536 entries; 4 bytes for each block's count
//   bitmap      one bit for each of the n entries
//   golomb      the gaps between indices in Golomb's code for gaps of that mean, near their entropy
//   run_length  the lengths of the bitmap's runs (run_length_indices.hh)
//   huffman     the bytes of the gaps in a Huffman code made for them (huffman_indices.hh)
std::unique_ptr<IndexCode> make_index_code(const std::string& name);
std::vector<std::string> index_code_names();

// Returns the Rice parameter b* of gaps between entries that are each kept with probability `ratio`. A gap d
// is (d-1) >> b* ones, a zero, and the lowest b* bits of d-1. With φ the golden ratio,
//   b* = max(0, 1 + floor(log2(ln(φ-1) / ln(1-ratio))))
// Sattler et al., Sparse Binary Compression (IJCNN 2019), after Golomb.
int golomb_parameter(double ratio);

}  // namespace thinpipe::trainer
