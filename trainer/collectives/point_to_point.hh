// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages, for protocols in which each message depends on earlier ones.
#pragma once

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

struct ReceivedMessage {
  int from = 0;
  torch::Tensor message;  // uint8
};

// Messages are no larger than the size that the PointToPoint object was opened for. By the end of the
// protocol every message sent must have been received, and no worker may leave the group before all have
// closed. Failures are CollectiveErrors.
class PointToPoint {
 public:
  PointToPoint() = default;
  virtual ~PointToPoint() = default;
  PointToPoint(const PointToPoint&) = delete;
  PointToPoint& operator=(const PointToPoint&) = delete;
  PointToPoint(PointToPoint&&) = delete;
  PointToPoint& operator=(PointToPoint&&) = delete;

  // Sends to another worker and returns at once. `message` must not change until the PointToPoint object is
  // closed.
  virtual void send(int to, const torch::Tensor& message) = 0;

  // Blocks until a message from any other worker arrives, in no particular order. Its tensor may have the
  // maximum size.
  virtual ReceivedMessage receive() = 0;

  // Blocks until all messages are on their way.
  virtual void close() = 0;
};

}  // namespace thinpipe::trainer
