// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/refusal.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe::netem {
namespace {

constexpr const char* or_as_root = "or run it as root (sudo)";

std::string value_of(const std::string& path) {
  try {
    std::string text = read_file(path);
    while (text.ends_with('\n') || text.ends_with('\0'))
      text.pop_back();  // SELinux ends its texts with a zero
    return text;
  } catch (const SystemError&) {
    return {};  // a kernel without the setting
  }
}

std::string own_path() {
  std::error_code hidden;
  return std::filesystem::read_symlink("/proc/self/exe", hidden);
}

// Returns where file systems are mounted in this process's mount namespace.
std::vector<std::string> mount_points(const std::string& proc) {
  std::istringstream mounts(value_of(proc + "/self/mountinfo"));
  std::vector<std::string> out;
  std::string id, parent, device, root, point;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream(line) >> id >> parent >> device >> root >> point;
    out.push_back(point);
  }
  return out;
}

// Returns true if this process's root is visibly not that of its mount namespace: in a chroot the kernel
// refuses user namespaces to everyone.
bool in_chroot(const std::string& proc) {
  const std::vector<std::string> mounts = mount_points(proc);
  if (!mounts.empty() && std::ranges::find(mounts, "/") == mounts.end()) return true;
  // A chroot into a mount point: the first process of the same mount namespace has another root.
  std::error_code hidden;
  const auto namespace_of = [&](const char* process) {
    return std::filesystem::read_symlink(fmt::format("{}/{}/ns/mnt", proc, process), hidden);
  };
  const auto first = namespace_of("1");
  if (hidden || first != namespace_of("self")) return false;
  return !std::filesystem::equivalent(proc + "/1/root", proc + "/self/root", hidden) && !hidden;
}

// Returns the parts of /proc that are covered by other mounts. While there are any, the kernel lets no user
// namespace mount a /proc that would show them. Folders of the kernel that are always empty may be covered.
std::vector<std::string> covered_parts_of_proc(const std::string& proc) {
  std::vector<std::string> out;
  for (const std::string& point : mount_points(proc)) {
    if (point.starts_with("/proc/") && point != "/proc/sys/fs/binfmt_misc" && point != "/proc/fs/nfsd") {
      out.push_back(point);
    }
  }
  return out;
}

bool has_seccomp_filter(const std::string& proc) {
  return value_of(proc + "/self/status").find("\nSeccomp:\t2") != std::string::npos;
}

// Returns the name of the AppArmor profile that confines this process; empty if none does.
std::string enforced_profile(const std::string& proc) {
  constexpr std::string_view mode = " (enforce)";
  std::string profile = value_of(proc + "/self/attr/apparmor/current");
  if (!profile.ends_with(mode)) return {};
  profile.resize(profile.size() - mode.size());
  return profile;
}

// Returns the SELinux context of this process if its type is one of containers'; otherwise an empty text.
std::string container_context(const std::string& proc) {
  const std::string context = value_of(proc + "/self/attr/current");
  return context.find(":container_t:") != std::string::npos ? context : "";
}

// The protections of a container that forbid namespaces, and the flags that lift them.
struct Container {
  std::vector<std::string> obstacles;
  std::vector<std::string> flags;
  std::vector<std::string> kubernetes;

  void add(std::string obstacle, std::string flag, std::string in_kubernetes) {
    obstacles.push_back(std::move(obstacle));
    flags.push_back("--security-opt " + std::move(flag));
    kubernetes.push_back(std::move(in_kubernetes));
  }

  std::string explain() const {
    return fmt::format(
        "{}. Start the container with \"{}\" (Podman, Docker), or with {} (Kubernetes): docs/how-to/containers.md. "
        "\"--privileged\" works too, but also lifts protections that need not be lifted",
        fmt::join(obstacles, "; "), fmt::join(flags, " "), fmt::join(kubernetes, ", "));
  }
};

Container examine_container(std::string_view failure, const std::string& proc) {
  const bool after_clone = !failure.starts_with("clone: ");
  const std::vector<std::string> covered = covered_parts_of_proc(proc);
  const std::string profile = enforced_profile(proc);
  const std::string context = container_context(proc);
  Container out;
  if (!covered.empty()) {
    out.add(
        fmt::format("Parts of /proc are covered, as is usual in containers ({}), and the kernel refuses a "
                    "new /proc that would show them",
                    fmt::join(covered, ", ")),
        "systempaths=unconfined", "procMount: Unmasked and hostUsers: false");
  }
  if (!profile.empty()) {
    out.add(fmt::format("The AppArmor profile {} confines this process and may forbid mounts", profile),
            "apparmor=unconfined", "appArmorProfile: Unconfined");
  }
  if (!context.empty()) {
    out.add(fmt::format("SELinux confines this process as a container ({})", context), "label=disable",
            "a seLinuxOptions type that may mount /proc");
  }
  // A filter that let the namespaces pass is innocent if something else explains the failure.
  if (has_seccomp_filter(proc) && (!after_clone || out.obstacles.empty())) {
    out.add("A seccomp filter is active, as is usual in containers, and it may forbid namespaces",
            "seccomp=unconfined", "seccompProfile: Unconfined");
  }
  return out;
}

// Returns the limits on the namespaces of a sandbox that are 0.
std::vector<std::string> limits_of_none(const std::string& proc) {
  std::vector<std::string> out;
  for (const char* const kind : {"user", "net", "mnt", "pid", "ipc"}) {
    const std::string name = fmt::format("max_{}_namespaces", kind);
    if (value_of(proc + "/sys/user/" + name) == "0") out.push_back("user." + name);
  }
  return out;
}

std::string explain_limits(const std::vector<std::string>& limits) {
  std::vector<std::string> assignments;
  for (const std::string& name : limits) assignments.push_back(name + "=10000");
  return fmt::format(
      "The setting {0} is 0, which forbids such namespaces to everyone. Allow them until the next boot with "
      "\"sudo sysctl -w {1}\", or permanently with {1} in a file under /etc/sysctl.d; in a container, do it on "
      "the machine that runs it",
      fmt::join(limits, " and "), fmt::join(assignments, " "));
}

std::string cause_and_remedy(std::string_view failure, const std::string& proc) {
  if (in_chroot(proc)) {
    return "This process is in a chroot, where the kernel refuses user namespaces to everyone, even root. Run "
           "it outside the chroot, or enter the folder as a container (systemd-nspawn -D FOLDER, podman run "
           "--security-opt unmask=ALL --rootfs FOLDER)";
  }
  const Container container = examine_container(failure, proc);
  // The namespaces exist then, so no setting forbids them.
  if (failure.starts_with("mount a new /proc: ") && !covered_parts_of_proc(proc).empty()) {
    return container.explain();
  }
  if (const auto limits = limits_of_none(proc); !limits.empty()) return explain_limits(limits);
  if (failure.ends_with(std::strerror(ENOSPC))) {
    return "A limit on the number of namespaces is reached: a setting user.max_*_namespaces here or, in a "
           "container, on the machine that runs it. Raise it there (sudo sysctl -w "
           "user.max_user_namespaces=10000), or end programs that hold namespaces";
  }
  if (value_of(proc + "/sys/kernel/unprivileged_userns_clone") == "0") {
    return fmt::format(
        "The setting kernel.unprivileged_userns_clone is 0, which forbids user namespaces to ordinary users. "
        "Allow them with \"sudo sysctl -w kernel.unprivileged_userns_clone=1\", {}",
        or_as_root);
  }
  if (value_of(proc + "/sys/kernel/apparmor_restrict_unprivileged_userns") == "1") {
    return fmt::format(
        "The setting kernel.apparmor_restrict_unprivileged_userns is 1, which takes all rights from ordinary "
        "users' namespaces. Lift it with \"sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\", "
        "allow them to this program alone with a file /etc/apparmor.d/thinpipe that contains "
        "\"abi <abi/4.0>, profile thinpipe {} flags=(unconfined) {{ userns, }}\" and \"sudo apparmor_parser -r "
        "/etc/apparmor.d/thinpipe\", {}",
        own_path(), or_as_root);
  }
  if (!container.obstacles.empty()) return container.explain();
  return fmt::format(
      "No known setting forbids them. The kernel may be built without namespaces, or a container may hide "
      "parts of /proc: run thinpipe outside the container, {}",
      or_as_root);
}

}  // namespace

std::string explain_refusal(std::string_view failure, const std::string& proc) {
  return fmt::format("cannot create the namespaces for the virtual network ({}). {}.", failure,
                     cause_and_remedy(failure, proc));
}

}  // namespace thinpipe::netem
