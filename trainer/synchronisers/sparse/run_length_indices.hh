// SPDX-License-Identifier: Apache-2.0
// Indices as the runs of their bitmap, without the zeros after the last index:
//
//   1 bit: the bitmap's first bit   the length of each run, alternately of zeros and ones
//
// A length l takes 2 floor(log2 l) + 1 bits in Elias's γ code: floor(log2 l) ones, a zero, and l without its
// highest bit. No index takes no bytes. Elias, Universal Codeword Sets and Representations of the Integers (1975).
#pragma once

#include <memory>

#include "trainer/synchronisers/sparse/index_code.hh"

namespace thinpipe::trainer {

std::unique_ptr<IndexCode> make_run_length_indices();

}  // namespace thinpipe::trainer
