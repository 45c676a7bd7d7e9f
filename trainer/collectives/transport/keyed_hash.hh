// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012): only who knows the
// key can tell the hash of a message. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace thinpipe::trainer {

using HashKey = std::array<std::byte, 16>;
using KeyedHash = std::array<std::byte, 16>;

KeyedHash keyed_hash(const HashKey& key, std::span<const std::byte> message);

}  // namespace thinpipe::trainer
