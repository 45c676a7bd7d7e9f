// Ternary values, TernGrad's stochastic quantiser: q becomes s·c with c in {-1, 0, 1}, s the largest
// magnitude, c = sign(q) with probability |q|/s. Unbiased. Wen et al., TernGrad (NeurIPS 2017).
#pragma once

#include <cstdint>
#include <span>

namespace thinpipe::trainer {

// s = max|q|; infinity where an entry is not finite; 0 of nothing.
float ternary_scale(std::span<const float> values);

// min(max|q|, clip·σ), σ the population's standard deviation: the scale of clipped values. max|q| if clip is
// 0, and if σ says nothing of their size: of fewer than 16 values, or of ones that hardly vary around their
// mean. Infinity where an entry is not finite; 0 of nothing.
float clipped_ternary_scale(std::span<const float> values, double clip);

// codes[i] = sign(q_i) where uniform[i] < |q_i|/s, else 0. With uniform on [0, 1), |q| >= s always fires,
// which clips it to s, and nothing does where s is 0 or infinite. All spans have one size.
void draw_ternary(std::span<const float> values, float scale, std::span<const float> uniform,
                  std::span<std::int8_t> codes);

// codes[i] = the nearest of -1, 0 and 1 to q_i/s: sign(q_i) where 2|q_i| >= s > 0, else 0. Off by at most
// s/2.
void round_ternary(std::span<const float> values, float scale, std::span<std::int8_t> codes);

// values[i] = unit·codes[i]; codes may be sums over workers.
void expand_ternary(std::span<const std::int8_t> codes, float unit, std::span<float> values);

}  // namespace thinpipe::trainer
