// A Mailbox over Gloo's unbound buffers.
#pragma once

#include <gloo/context.h>

#include "trainer/collectives/mailbox.hh"

namespace thinpipe::trainer {

// Opens a mailbox; Gloo's exceptions pass through unchanged. `slot`: not used by any other operation.
std::unique_ptr<Mailbox> open_gloo_mailbox(std::shared_ptr<gloo::Context> context, std::int64_t message_bytes,
                                           std::uint64_t slot);

}  // namespace thinpipe::trainer
