// SPDX-License-Identifier: Apache-2.0
// Numbers as a byte each. With s = max|x|: code_i = the integer nearest to 127·x_i/s, ties to even; decoded
// s·code_i/127, within s/254 of x_i.
#pragma once

#include <cstdint>
#include <span>

namespace thinpipe::trainer {

// Returns s = max|x|; infinity if an entry is not finite; 0 if there are no values.
float largest_magnitude(std::span<const float> values);

// Sets codes[i]. All are 0 if the scale is 0 or infinite.
void round_to_bytes(std::span<const float> values, float scale, std::span<std::int8_t> codes);

// Adds each decoded code to values[i]; NaN if the scale is infinite.
void add_bytes(std::span<const std::int8_t> codes, float scale, std::span<float> values);

}  // namespace thinpipe::trainer
