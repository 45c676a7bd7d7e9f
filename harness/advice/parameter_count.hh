// SPDX-License-Identifier: Apache-2.0
// A stand-in for a model of which only the number of parameters is known: its parameters are the entries of square
// matrices. Pure.
#pragma once

#include "common/support/json_object.hh"

namespace thinpipe {

// Rows and columns of each matrix. Only methods with low-rank factors depend on them.
inline constexpr int stand_in_matrix_side = 1024;
inline constexpr double min_advised_parameters = 1e4;
inline constexpr double max_advised_parameters = 1e12;

// Returns the part of a configuration that has the trainer plan a few such matrices.
Json stand_in_configuration();

// Returns the trainer's plan for the stand-in, scaled to that many parameters: all bytes and codes are proportional
// to their number. Buckets have 25 MiB, the first one 1 MiB, unless the method exchanges the gradient in one piece.
Json scale_plan(Json plan, double parameters);

// Returns the number of these buckets, of which a plan for very many parameters has fewer and larger ones.
double count_buckets(double gradient_bytes);

}  // namespace thinpipe
