// SPDX-License-Identifier: Apache-2.0
// Indices as the gaps between them, in a Huffman code that is made for each message.
//
//   gap: index - previous index - 1, or the first index   its bytes: 7 bits each, the lowest first; the highest
//   bit is set if more follow   all bytes as one deflate stream that has only Huffman codes (deflate.hh)
//
// Near the gaps' entropy if most take one byte, as with a tenth of the entries. No index takes no bytes.
#pragma once

#include <memory>

#include "trainer/synchronisers/sparse/index_code.hh"

namespace thinpipe::trainer {

std::unique_ptr<IndexCode> make_huffman_indices();

}  // namespace thinpipe::trainer
