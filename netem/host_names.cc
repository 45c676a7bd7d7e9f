// SPDX-License-Identifier: Apache-2.0
#include "netem/host_names.hh"

#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe::netem {
namespace {

// Covers the file with `text`, in this mount namespace only. The text is in a file system that is mounted
// only for a moment. Its file is not removed: a shell inside this one could not mount over a removed file.
void cover(const std::string& path, const std::string& text) {
  const std::string file = "/dev/shm/thinpipe-cover";
  system_call("mount a file system for " + path,
              ::mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"));
  write_all(FileDescriptor::open(file, O_WRONLY | O_CREAT | O_EXCL), text, "write " + file);
  system_call("cover " + path, ::mount(file.c_str(), path.c_str(), nullptr, MS_BIND, nullptr));
  system_call("detach the file system for " + path, ::umount2("/dev/shm", MNT_DETACH));
}

}  // namespace

std::string hosts_file(const std::vector<Host>& hosts, const std::string& own) {
  // Marked lines come from a shell that this one is nested in; its network is out of reach.
  const std::string mark = "\t# thinpipe";
  std::string out;
  for (const Host& host : hosts) out += fmt::format("{}\t{}{}\n", host.address, host.name, mark);
  std::istringstream in(own);
  for (std::string line; std::getline(in, line);) {
    if (!line.ends_with(mark)) out += line + "\n";
  }
  return out;
}

std::string name_service_file(const std::string& own) {
  std::istringstream in(own);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("hosts:")) out += line + "\n";
  }
  return out + "hosts: files\n";
}

void resolve_names(const std::vector<Host>& hosts) {
  cover("/etc/hosts", hosts_file(hosts, read_file("/etc/hosts")));
  const std::string name_service = "/etc/nsswitch.conf";
  // Without this file the C library looks into /etc/hosts first.
  if (::access(name_service.c_str(), R_OK) == 0)
    cover(name_service, name_service_file(read_file(name_service)));
}

}  // namespace thinpipe::netem
