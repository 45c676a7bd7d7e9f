// SPDX-License-Identifier: Apache-2.0
// Why the kernel, or the container around this process, refuses namespaces.
#pragma once

#include <string>
#include <string_view>

namespace thinpipe::netem {

// Returns why namespaces are refused and how to allow them, judging by the settings under `proc` ("/proc").
// `failure`: what was attempted, and the kernel's error.
std::string explain_refusal(std::string_view failure, const std::string& proc);

}  // namespace thinpipe::netem
