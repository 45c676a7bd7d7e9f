// SPDX-License-Identifier: Apache-2.0
// Fits a sum of two exponentials to a curve of evenly spaced points.
#pragma once

#include <span>

namespace thinpipe::trainer {

// y_i = a u^i + c v^i. With x = i / (L - 1), from 0 to 1, this is a e^(bx) + c e^(dx) for u = e^(b / (L - 1))
// and v = e^(d / (L - 1)). A reader of u and v only multiplies, so it has the same bits on any machine.
struct DoubleExponential {
  double a = 0;
  double u = 1;
  double c = 0;
  double v = 1;

  bool operator==(const DoubleExponential&) const = default;
};

// Fits a double exponential to at least two positive, finite values. There is no closed form for the least
// squares, so b and d come from an integral equation. With S the integral of y from 0 to x, and SS that of S,
//   y = -bd SS + (b + d) S + C x + D
// for some C and D. Regression of y on these four columns gives bd and b + d, and then regression on the two
// exponentials gives a and c. If b and d come out equal or complex, their mean is used, with a small
// difference. Candidates are also one exponential and a constant, y = b S + C x + D, and the mean alone; the
// candidate with the smallest squared error wins.
// Jacquelin, Régressions et équations intégrales (2009).
DoubleExponential fit_double_exponential(std::span<const float> curve);

// Sets curve[i] = a u^i + c v^i, at most as large as a float can be. Returns false if a value is not finite.
bool evaluate_double_exponential(const DoubleExponential& fitted, std::span<float> curve);

}  // namespace thinpipe::trainer
