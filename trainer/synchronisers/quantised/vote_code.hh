// How the signs of one tensor's values travel to be counted. Most gradients have no zero, and then one bit
// each is enough; but where there are zeros, as of a dead unit or of a row of an embedding that no example
// used, they must not vote, or weights drift that nothing pulls at.
//
//   u8 0   all are zero: nothing follows
//   u8 1   none is zero: a bit each, as sign_code.hh
//   u8 2   some are zero: two bits each, as packed_codes.hh
//   u8 3   some are not finite: nothing follows, as the step will be skipped
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

// Of so many values: where none is zero, and at most.
std::int64_t usual_vote_bytes(std::int64_t values);
std::int64_t largest_vote_bytes(std::int64_t values);

void append_votes(std::span<const float> values, std::vector<std::uint8_t>& out);

// votes[i] += -1, 0 or 1; what was read is taken off the beginning of `message`. False: the values were not
// all finite. Throws CollectiveError where the message is not one that append_votes() makes.
bool add_votes(std::span<const std::uint8_t>& message, std::span<std::int8_t> votes);

// The sign of each, 0 of a zero. Returns whether all are finite; what is not has some sign.
bool signs_of(std::span<const float> values, std::span<std::int8_t> signs);

}  // namespace thinpipe::trainer
