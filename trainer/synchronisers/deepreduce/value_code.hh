// SPDX-License-Identifier: Apache-2.0
// DeepReduce's codes for the values of a sparse message.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainer/base/philox.hh"

namespace thinpipe::trainer {

class ValueCode {
 public:
  ValueCode() = default;
  virtual ~ValueCode() = default;
  ValueCode(const ValueCode&) = delete;
  ValueCode& operator=(const ValueCode&) = delete;
  ValueCode(ValueCode&&) = delete;
  ValueCode& operator=(ValueCode&&) = delete;

  // Returns the bytes of `count` values; an upper bound unless has_fixed_size().
  virtual std::int64_t bytes(std::int64_t count) const = 0;
  virtual bool has_fixed_size() const { return true; }

  // Returns whether the values must be in descending order.
  virtual bool takes_a_curve() const { return false; }

  // Appends the code of finite values. stream: for codes that draw.
  virtual void append(std::span<const float> values, const RandomStream& stream,
                      std::vector<std::uint8_t>& out) const = 0;

  // Decodes all of `in`. Throws CollectiveError if it does not have values.size() values.
  virtual void read(std::span<const std::uint8_t> in, std::span<float> values) const = 0;
};

// Codes by name:
//   f32       4 bytes each
//   deflate   the same bytes, compressed without loss by zlib
//   qsgd      7 bits each: Qsgd's levels (qsgd.cc), in blocks of 512 with a float32 scale
//   fit_poly  polynomials of degree 5 along the curve of the values in descending order: one for each piece
//             between knots, with at most 8 pieces each of the positive and of the negative values, and one
//             of the zeros
//   fit_dexp  two exponentials, a e^(bx) + c e^(dx), along the positive values of that curve, and two along the
//             negative ones
std::unique_ptr<ValueCode> make_value_code(const std::string& name);
std::vector<std::string> value_code_names();

}  // namespace thinpipe::trainer
