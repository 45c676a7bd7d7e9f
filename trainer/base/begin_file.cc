// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/begin_file.hh"

#include <chrono>
#include <filesystem>
#include <thread>

namespace thinpipe::trainer {

void await_begin(const std::optional<std::string>& begin_file) {
  constexpr std::chrono::milliseconds poll_period{1};
  while (begin_file && !std::filesystem::exists(*begin_file)) std::this_thread::sleep_for(poll_period);
}

}  // namespace thinpipe::trainer
