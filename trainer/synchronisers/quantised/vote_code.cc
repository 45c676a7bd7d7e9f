// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/vote_code.hh"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "trainer/base/packed_codes.hh"
#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/quantised/sign_code.hh"

namespace thinpipe::trainer {
namespace {

enum class VoteForm : std::uint8_t { all_zero, no_zero, some_zero, not_finite };

constexpr int bits_with_zero = 2;

std::size_t bytes_that_follow(VoteForm form, std::int64_t values) {
  if (form == VoteForm::no_zero) return static_cast<std::size_t>(sign_bytes(values));
  if (form == VoteForm::some_zero) return static_cast<std::size_t>(packed_code_bytes(values, bits_with_zero));
  return 0;
}

VoteForm form_of(std::span<const std::int8_t> signs) {
  const std::int64_t zeros = std::ranges::count(signs, std::int8_t{0});
  if (zeros == std::ssize(signs)) return VoteForm::all_zero;
  return zeros == 0 ? VoteForm::no_zero : VoteForm::some_zero;
}

}  // namespace

std::int64_t usual_vote_bytes(std::int64_t values) {
  return 1 + sign_bytes(values);
}

std::int64_t largest_vote_bytes(std::int64_t values) {
  return 1 + packed_code_bytes(values, bits_with_zero);
}

void append_votes(std::span<const float> values, std::vector<std::uint8_t>& out) {
  std::vector<std::int8_t> signs(values.size());
  const bool finite = signs_of(values, signs);
  const VoteForm form = finite ? form_of(signs) : VoteForm::not_finite;
  out.push_back(static_cast<std::uint8_t>(form));
  const std::size_t begin = out.size();
  out.resize(begin + bytes_that_follow(form, std::ssize(values)));
  const std::span<std::uint8_t> body = std::span(out).subspan(begin);
  if (form == VoteForm::no_zero) pack_signs(values, body);
  if (form == VoteForm::some_zero) pack_codes(signs, bits_with_zero, body);
}

bool add_votes(std::span<const std::uint8_t>& message, std::span<std::int8_t> votes) {
  if (message.empty() || message.front() > static_cast<std::uint8_t>(VoteForm::not_finite)) {
    throw CollectiveError("a message of votes has a tensor of unknown form");
  }
  const auto form = static_cast<VoteForm>(message.front());
  const std::size_t size = bytes_that_follow(form, std::ssize(votes));
  if (message.size() - 1 < size) {
    throw CollectiveError(
        fmt::format("a message of votes ends after {} of {} bytes", message.size() - 1, size));
  }
  const std::span<const std::uint8_t> body = message.subspan(1, size);
  message = message.subspan(1 + size);
  if (form == VoteForm::not_finite) return false;
  if (form == VoteForm::all_zero) return true;
  std::vector<std::int8_t> signs(votes.size());
  if (form == VoteForm::no_zero) unpack_signs(body, signs);
  if (form == VoteForm::some_zero) unpack_codes(body, bits_with_zero, signs);
  for (std::size_t i = 0; i < votes.size(); ++i) votes[i] = static_cast<std::int8_t>(votes[i] + signs[i]);
  return true;
}

// Finds the largest magnitude by its bits, like largest_magnitude(): branch-free, for vector instructions.
bool signs_of(std::span<const float> values, std::span<std::int8_t> signs) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int32_t sign = (values[i] > 0 ? 1 : 0) - (values[i] < 0 ? 1 : 0);
    signs[i] = static_cast<std::int8_t>(sign);
    largest = std::max(largest, std::bit_cast<std::int32_t>(values[i]) & 0x7fffffff);
  }
  return std::isfinite(std::bit_cast<float>(largest));
}

}  // namespace thinpipe::trainer
