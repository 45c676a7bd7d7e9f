// The names of this machine's processors, as the kernel and NVIDIA's driver tell them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace thinpipe {

// Returns for example "AMD EPYC 7763 64-Core Processor"; nullopt if the kernel does not say.
std::optional<std::string> cpu_name();

// Returns for example "NVIDIA A40", of the first GPU; nullopt without NVIDIA's driver.
std::optional<std::string> gpu_name(const std::filesystem::path& driver = "/proc/driver/nvidia");

}  // namespace thinpipe
