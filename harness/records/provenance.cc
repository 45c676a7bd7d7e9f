// SPDX-License-Identifier: Apache-2.0
#include "harness/records/provenance.hh"

#include <chrono>
#include <string_view>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/protocol/machine_names.hh"
#include "git_revision.hh"
#include "harness/records/slurm_job.hh"

namespace thinpipe {
namespace {

Json or_null(const std::optional<std::string>& name) {
  return name ? Json(*name) : Json(nullptr);
}

}  // namespace

std::string program_version() {
  return fmt::format("{} ({}{})", THINPIPE_VERSION, std::string_view(git_commit).substr(0, 10),
                     git_dirty ? ", with uncommitted changes" : "");
}

Json describe_program_and_machine() {
  utsname system{};
  system_call("get the kernel's name", ::uname(&system));
  Json out = {{"version", THINPIPE_VERSION},
              {"git_commit", git_commit},
              {"dirty", git_dirty},
              {"compiler", THINPIPE_COMPILER},
              {"build_type", THINPIPE_BUILD_TYPE},
              {"kernel", fmt::format("{} {}", system.sysname, system.release)},
              {"cpu", or_null(cpu_name())},
              {"cores", std::thread::hardware_concurrency()},
              {"memory_bytes", ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE)},
              {"gpu", or_null(gpu_name())}};
  if (const auto job = this_slurm_job()) out["slurm_job"] = job->id;
  return out;
}

std::string name_of_machine() {
  std::string out =
      fmt::format("{}, {} cores", cpu_name().value_or("unknown CPU"), std::thread::hardware_concurrency());
  if (const auto gpu = gpu_name()) out += ", " + *gpu;
  return out;
}

std::string utc_now() {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                     now.time_since_epoch().count() % 1000);
}

}  // namespace thinpipe
