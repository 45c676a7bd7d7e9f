// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/link_shape.hh"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/support/units.hh"
#include "netem/topology/frame.hh"

namespace thinpipe::netem {
namespace {

// TCP subtracts 200 to 400 bytes for headers from what a segment may have.
constexpr double least_subtracted_bytes = 200;
constexpr double most_subtracted_bytes = 400;

// Becomes two frames of 1500 bytes after that.
constexpr double smallest_segment_bytes = 3750;

// Becomes one frame after that.
double one_frame_segment_bytes(const Frame& frame) {
  return frame.payload_bytes() + 600;
}

int frames_of(unsigned segment_bytes, const Frame& frame) {
  return static_cast<int>((segment_bytes - most_subtracted_bytes) / frame.payload_bytes());
}

}  // namespace

LinkShape link_shape_of(const Direction& direction) {
  const double bytes_per_s = direction.rate_bit_per_s.value() / 8;
  return {.rate_bit_per_s = *direction.rate_bit_per_s,
          .burst_bytes = direction.burst_bytes.value_or(
              std::max(min_burst_bytes(direction.frame), 100e-6 * bytes_per_s)),
          .queue_bytes =
              direction.queue_bytes.value_or(std::max(min_queue_bytes(direction.frame), 10e-3 * bytes_per_s)),
          .queueing = direction.queueing,
          .ecn = direction.ecn,
          .impairments = direction.impairments,
          .frame = direction.frame};
}

double credit_bytes(const LinkShape& shape) {
  return std::max(shape.burst_bytes, 250e-6 * shape.rate_bit_per_s / 8);
}

Json to_json(const LinkShape& shape) {
  Json out = {{"rate_bit_per_s", shape.rate_bit_per_s},
              {"burst_bytes", shape.burst_bytes},
              {"queue_bytes", shape.queue_bytes},
              {"queueing", name_of(shape.queueing)}};
  if (shape.ecn) out["ecn"] = true;
  const Impairments& also = shape.impairments;
  for (const auto& [key, value] : {std::pair{"delay_s", also.delay_s},
                                   {"jitter_s", also.jitter_s},
                                   {"loss", also.loss},
                                   {"duplication", also.duplication},
                                   {"reordering", also.reordering}}) {
    if (value > 0) out[key] = value;
  }
  return out;
}

void check_shape(const LinkShape& shape, const Place& place) {
  // The kernel truncates the burst to whole microseconds of the rate, so up to one of them is lost.
  const double lost_bytes = shape.rate_bit_per_s / 8e6;
  if (shape.burst_bytes - lost_bytes < shape.frame.bytes()) {
    throw InputError(place,
                     fmt::format("a burst of {} at {} cannot hold a full frame of {} bytes; raise "
                                 "\"burst\" or leave it out",
                                 format_quantity(Quantity::size, shape.burst_bytes),
                                 format_quantity(Quantity::rate, shape.rate_bit_per_s), shape.frame.bytes()));
  }
  if (const double burst_s = shape.burst_bytes * 8 / shape.rate_bit_per_s; burst_s > max_burst_s) {
    throw InputError(place, fmt::format("a burst of {} takes {:.4g} s at {}, but the kernel counts at most "
                                        "{} s; lower \"burst\", or raise the rate",
                                        format_quantity(Quantity::size, shape.burst_bytes), burst_s,
                                        format_quantity(Quantity::rate, shape.rate_bit_per_s), max_burst_s));
  }
  if (shape.queue_bytes < shape.burst_bytes) {
    throw InputError(place, fmt::format("a queue of {} cannot hold a burst of {}; raise \"queue\" or leave "
                                        "it out",
                                        format_quantity(Quantity::size, shape.queue_bytes),
                                        format_quantity(Quantity::size, shape.burst_bytes)));
  }
}

unsigned largest_segment_bytes(const LinkShape& shape) {
  const double passes_whole = least_subtracted_bytes + shape.burst_bytes * shape.frame.goodput_of_cap();
  const double leaves_room = shape.burst_bytes * 5 / 8;
  const double largest = std::min(
      std::max({leaves_room, one_frame_segment_bytes(shape.frame), smallest_segment_bytes}), passes_whole);
  const Impairments& asked = shape.impairments;
  const bool by_frame = asked.loss > 0 || asked.duplication > 0 || asked.reordering > 0 || asked.jitter_s > 0;
  return static_cast<unsigned>(by_frame ? std::min(largest, one_frame_segment_bytes(shape.frame)) : largest);
}

double segment_on_link_bytes(const LinkShape& shape) {
  return std::max(1, frames_of(largest_segment_bytes(shape), shape.frame)) * shape.frame.bytes();
}

int acknowledged_frames(unsigned segment_bytes, const Frame& frame) {
  return std::max(2, frames_of(segment_bytes, frame));
}

}  // namespace thinpipe::netem
