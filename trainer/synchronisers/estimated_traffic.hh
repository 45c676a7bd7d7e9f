// SPDX-License-Identifier: Apache-2.0
// Implemented by methods whose traffic() is not a formula, such as those in Python files.
#pragma once

namespace thinpipe::trainer {

// The part of Synchroniser::traffic() that can be compared with the meter.
enum class TrafficClaim {
  payload_and_sent,
  // The sent bytes are an estimate.
  payload,
  // All of it is an estimate: the bytes depend on the data, and the method states no bound.
  none,
};

class EstimatedTraffic {
 public:
  EstimatedTraffic() = default;
  virtual ~EstimatedTraffic() = default;
  EstimatedTraffic(const EstimatedTraffic&) = delete;
  EstimatedTraffic& operator=(const EstimatedTraffic&) = delete;
  EstimatedTraffic(EstimatedTraffic&&) = delete;
  EstimatedTraffic& operator=(EstimatedTraffic&&) = delete;

  virtual TrafficClaim traffic_claim() const = 0;
};

}  // namespace thinpipe::trainer
