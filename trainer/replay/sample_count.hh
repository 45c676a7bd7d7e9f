// SPDX-License-Identifier: Apache-2.0
// How many samples of a class of steps a replay takes. Pure.
#pragma once

#include <cstdint>

#include "common/protocol/sample_mean.hh"

namespace thinpipe::trainer {

inline constexpr std::int64_t min_samples_of_class = 3;
inline constexpr std::int64_t max_iterations_of_class = 192;
// Half of the mean's 95 % confidence interval, relative to the mean.
inline constexpr double wanted_precision_of_class = 0.02;
// A class gets about this much time, but always the minimum of samples.
inline constexpr double max_s_of_class = 60;

// Returns after how many samples to ask again, or at most times.count() if these are enough. All `distinct` samples of the
// class must be among them, if time and iterations permit; the number doubles until the mean is known well enough.
// times: of the samples so far, at least one, each divided by its number of steps.
std::int64_t next_sample_count(const SampleMean& times, std::int64_t distinct, std::int64_t steps_per_sample);

}  // namespace thinpipe::trainer
