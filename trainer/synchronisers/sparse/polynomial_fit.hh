// A curve of evenly spaced points as polynomials, piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

// Least squares over the curve's L points, of a degree below L: y_i ≈ Σ_j c_j q_j(i), with q_j the
// polynomials that are orthogonal on these points and whose mean square is 1 (Gram's), so that c_j is the
// mean of y_i q_j(i). The same polynomial as from a system of equations in powers of i, which would be
// ill-conditioned. Returns c_0 to c_degree. The values are finite.
std::vector<float> fit_polynomial(std::span<const float> curve, int degree);

// curve[i] = Σ_j c_j q_j(i). Where all coefficients are zero, exactly 0.
void evaluate_polynomial(std::span<const float> coefficients, std::span<float> curve);

// Lengths of at most `most` pieces of the curve. The piece with a point farthest from its chord, the line
// from its first to its last point, is cut there, and so on, as long as both parts have `shortest` points.
std::vector<std::uint32_t> split_at_knots(std::span<const float> curve, std::size_t most,
                                          std::size_t shortest);

}  // namespace thinpipe::trainer
