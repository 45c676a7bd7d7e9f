// SPDX-License-Identifier: Apache-2.0
// How the signs of one tensor's values are sent to be counted. Most gradients have no zeros, and one bit per
// value suffices. Zeros, as in a dead unit or in an unused row of an embedding, must not vote, or weights
// without a gradient would drift.
//
//   u8 0   all are zero: nothing follows
//   u8 1   none is zero: one bit each, as in sign_code.hh
//   u8 2   some are zero: two bits each, as in packed_codes.hh
//   u8 3   some are not finite: nothing follows, because the step will be skipped
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

// The bytes of the votes on `values` values: if none is zero, and at most.
std::int64_t usual_vote_bytes(std::int64_t values);
std::int64_t largest_vote_bytes(std::int64_t values);

void append_votes(std::span<const float> values, std::vector<std::uint8_t>& out);

// Adds -1, 0 or 1 to votes[i] and removes the bytes it read from the front of `message`. Returns false if the
// values were not all finite. Throws CollectiveError if append_votes() cannot have written the message.
bool add_votes(std::span<const std::uint8_t>& message, std::span<std::int8_t> votes);

// Writes the sign of each value, 0 for a zero. Returns whether all values are finite; the signs of others are
// unspecified.
bool signs_of(std::span<const float> values, std::span<std::int8_t> signs);

}  // namespace thinpipe::trainer
