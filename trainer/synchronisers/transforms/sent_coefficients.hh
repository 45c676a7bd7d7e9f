// SPDX-License-Identifier: Apache-2.0
// The wire format of selected coefficients of each chunk of a vector: all values, float32, then all indices,
// u16.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

struct SentCoefficients {
  std::vector<float> values;           // chunk after chunk
  std::vector<std::uint16_t> indices;  // of each value within its chunk
};

inline constexpr std::int64_t bytes_per_sent_coefficient = sizeof(float) + sizeof(std::uint16_t);

// Convert to bytes_per_sent_coefficient bytes per value, and back.
std::vector<std::uint8_t> to_bytes(const SentCoefficients& sent);
SentCoefficients from_bytes(std::span<const std::uint8_t> message);

}  // namespace thinpipe::trainer
