// SPDX-License-Identifier: Apache-2.0
// PointToPoint over Gloo's unbound buffers.
#pragma once

#include <gloo/context.h>

#include "trainer/collectives/point_to_point.hh"

namespace thinpipe::trainer {

// Opens a PointToPoint object; Gloo's exceptions pass through unchanged. `slot`: not used by any other
// operation.
std::unique_ptr<PointToPoint> open_gloo_point_to_point(std::shared_ptr<gloo::Context> context,
                                                       std::int64_t message_bytes, std::uint64_t slot);

}  // namespace thinpipe::trainer
