// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/id_map.hh"

#include <array>
#include <cstdint>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe::netem {
namespace {

// Returns true if this process has the capabilities to map more than itself; a container's root may lack
// them.
bool may_map_everyone() {
  if (::geteuid() != 0) return false;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  system_call("read capabilities", ::syscall(SYS_capget, &header, data.data()));
  constexpr std::uint32_t needed = (1U << CAP_SETUID) | (1U << CAP_SETGID) | (1U << CAP_SETFCAP);
  return (data[0].effective & needed) == needed;
}

// Returns this process's own map with each number mapped to itself.
std::string everyone(const std::string& map_name) {
  std::istringstream in(read_file("/proc/self/" + map_name));
  std::string out;
  std::uint32_t inside = 0;
  std::uint32_t outside = 0;
  std::uint32_t count = 0;
  while (in >> inside >> outside >> count) out += fmt::format("{} {} {}\n", inside, inside, count);
  return out;
}

void write_file(pid_t child, const std::string& name, const std::string& text) {
  const std::string path = fmt::format("/proc/{}/{}", child, name);
  write_all(FileDescriptor::open(path, O_WRONLY), text, "write " + path);
}

}  // namespace

void write_id_maps(pid_t child) {
  if (may_map_everyone()) {
    write_file(child, "uid_map", everyone("uid_map"));
    write_file(child, "gid_map", everyone("gid_map"));
    return;
  }
  write_file(child, "uid_map", fmt::format("0 {} 1\n", ::geteuid()));
  // The kernel requires this before an ordinary user may map a group: dropping a group could grant access.
  write_file(child, "setgroups", "deny");
  write_file(child, "gid_map", fmt::format("0 {} 1\n", ::getegid()));
}

}  // namespace thinpipe::netem
