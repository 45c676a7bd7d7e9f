// SPDX-License-Identifier: Apache-2.0
// Ternary values by TernGrad's stochastic quantiser: q becomes s·c with c in {-1, 0, 1}, where s is the
// largest magnitude and c = sign(q) with probability |q|/s. Unbiased. Wen et al., TernGrad (NeurIPS 2017).
#pragma once

#include <cstdint>
#include <span>

namespace thinpipe::trainer {

// Returns min(max|q|, clip·σ), with σ the population's standard deviation: the scale of clipped values.
// Returns max|q| if clip is 0, or if σ is no measure of the magnitudes: for fewer than 16 values, or values
// that hardly vary around their mean. Infinity if an entry is not finite; 0 if there are no values.
float clipped_ternary_scale(std::span<const float> values, double clip);

// Sets codes[i] = sign(q_i) if uniform[i] < |q_i|/s, otherwise 0. With uniform on [0, 1), |q| >= s always
// gives the sign, which clips to s; if s is 0 or infinite, all codes are 0. All spans have one size.
void draw_ternary(std::span<const float> values, float scale, std::span<const float> uniform,
                  std::span<std::int8_t> codes);

// Sets codes[i] to the nearest of -1, 0 and 1 to q_i/s: sign(q_i) if 2|q_i| >= s > 0, otherwise 0. The error
// is at most s/2.
void round_ternary(std::span<const float> values, float scale, std::span<std::int8_t> codes);

// Sets values[i] = unit·codes[i]; codes may be sums over workers.
void expand_ternary(std::span<const std::int8_t> codes, float unit, std::span<float> values);

}  // namespace thinpipe::trainer
