// SPDX-License-Identifier: Apache-2.0
// xxh3-64 of bytes that arrive in pieces: the hash that identifies data.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <xxhash.h>

namespace thinpipe::trainer {

class Xxh3 {
 public:
  Xxh3() { XXH3_64bits_reset(state_.get()); }

  void add(const void* bytes, std::size_t size) { XXH3_64bits_update(state_.get(), bytes, size); }

  // Adds numbers as 8 little-endian bytes.
  void add(std::uint64_t number) { add(&number, sizeof number); }

  // Adds the length too, so that "ab" and "c" differ from "a" and "bc".
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    add(text.data(), text.size());
  }

  // Returns the hash so far as 16 hexadecimal digits.
  std::string digits() const { return fmt::format("{:016x}", XXH3_64bits_digest(state_.get())); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

}  // namespace thinpipe::trainer
