// SPDX-License-Identifier: Apache-2.0
// Fits polynomials to the pieces of a curve of evenly spaced points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

// Fits a polynomial of a degree below L to the curve's L points by least squares: y_i ≈ Σ_j c_j q_j(i). The
// q_j (Gram's polynomials) are orthogonal on these points with a mean square of 1, so c_j is the mean of y_i
// q_j(i). Solving for powers of i would give the same polynomial, but that system is ill-conditioned. Returns
// c_0 to c_degree. The values must be finite.
std::vector<float> fit_polynomial(std::span<const float> curve, int degree);

// Sets curve[i] = Σ_j c_j q_j(i); exactly 0 if all coefficients are zero.
void evaluate_polynomial(std::span<const float> coefficients, std::span<float> curve);

// Returns the lengths of at most `most` pieces of the curve. Repeatedly splits a piece at the point farthest
// from its chord, the line from its first to its last point. It takes the piece with the largest distance,
// while both parts have `shortest` points.
std::vector<std::uint32_t> split_at_knots(std::span<const float> curve, std::size_t most,
                                          std::size_t shortest);

}  // namespace thinpipe::trainer
