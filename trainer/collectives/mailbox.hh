// Messages between pairs of workers, for protocols in which what comes next depends on what came last.
#pragma once

#include "trainer/tensors.hh"

namespace thinpipe::trainer {

struct Letter {
  int from = 0;
  torch::Tensor message;  // uint8
};

// Messages have at most the size that the mailbox was opened for. The protocol must end with everything that
// was sent received, and no worker may leave the group before all have closed. Failures are CollectiveErrors.
class Mailbox {
 public:
  Mailbox() = default;
  virtual ~Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  Mailbox(Mailbox&&) = delete;
  Mailbox& operator=(Mailbox&&) = delete;

  // To another worker; returns at once. `message` must not change until the mailbox is closed.
  virtual void send(int to, const torch::Tensor& message) = 0;

  // Waits for a message of any other worker, in no promised order. It may come with room for the largest.
  virtual Letter receive() = 0;

  // Waits until what was sent is on its way.
  virtual void close() = 0;
};

}  // namespace thinpipe::trainer
