// Some coefficients of each chunk of a vector, as they travel: all values, float32, and then all places, u16.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/torch.hh"

namespace thinpipe::trainer {

struct SentCoefficients {
  std::vector<float> values;          // chunk after chunk
  std::vector<std::uint16_t> places;  // of each value within its chunk
};

inline constexpr std::int64_t bytes_per_sent_coefficient = sizeof(float) + sizeof(std::uint16_t);

// uint8 [bytes_per_sent_coefficient·values], and back.
torch::Tensor to_message(const SentCoefficients& sent);
SentCoefficients from_message(const torch::Tensor& message);

}  // namespace thinpipe::trainer
