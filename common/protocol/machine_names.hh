// SPDX-License-Identifier: Apache-2.0
// The names of this machine's processors, as the kernel and NVIDIA's driver tell them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace thinpipe {

// Returns for example "AMD EPYC 7763 64-Core Processor"; nullopt if the kernel does not say. Names of virtual machines'
// processors may leave out the number, so that machines of very different speed share one: these get family, model and
// clock, as in "AMD EPYC, family 23, model 1, 2.00 GHz". file: the kernel's.
std::optional<std::string> cpu_name(const std::filesystem::path& file = "/proc/cpuinfo");

// Returns for example "NVIDIA A40", of the first GPU; nullopt without NVIDIA's driver.
std::optional<std::string> gpu_name(const std::filesystem::path& driver = "/proc/driver/nvidia");

}  // namespace thinpipe
