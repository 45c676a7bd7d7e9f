// A Mailbox over Gloo's unbound buffers.
#pragma once

#include <gloo/context.h>

#include "trainer/collectives/mailbox.hh"

namespace thinpipe::trainer {

// What Gloo throws comes through as it is. `slot`: no other operation's.
std::unique_ptr<Mailbox> open_gloo_mailbox(std::shared_ptr<gloo::Context> context, std::int64_t message_bytes,
                                           std::uint64_t slot);

}  // namespace thinpipe::trainer
