// SPDX-License-Identifier: Apache-2.0
#include "netem/running_network.hh"

#include <algorithm>
#include <map>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/support/atomic_file.hh"
#include "common/support/json_object.hh"

namespace thinpipe::netem {
namespace {

namespace fs = std::filesystem;

std::int64_t inode(const FileDescriptor& file) {
  struct stat about {};
  system_call("look up a namespace", ::fstat(file.get(), &about));
  return static_cast<std::int64_t>(about.st_ino);
}

std::int64_t inode(const NetworkNamespace& of) {
  struct stat about {};
  system_call("look up a network namespace", ::fstat(of.fd(), &about));
  return static_cast<std::int64_t>(about.st_ino);
}

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Network namespaces that processes hold, by inode. Processes of other users, and those that end meanwhile, have none to see.
std::map<std::int64_t, FileDescriptor> namespaces_held_by(const fs::path& process) {
  std::map<std::int64_t, FileDescriptor> out;
  std::error_code hidden;
  for (fs::directory_iterator each(process / "fd", hidden), end; !hidden && each != end;
       each.increment(hidden)) {
    const std::string target = fs::read_symlink(each->path(), hidden).string();
    if (!target.starts_with("net:[")) continue;
    FileDescriptor file(::open(each->path().c_str(), O_RDONLY | O_CLOEXEC));
    if (file) out.emplace(inode(file), std::move(file));
  }
  return out;
}

// A host as the file describes it.
struct Entry {
  std::string name;
  std::string address;
  std::int64_t network_namespace = 0;
};

std::vector<Entry> read_entries(const Json& value, const Place& place) {
  if (!value.is_array() || value.empty()) throw InputError(place, "must be a list of hosts");
  std::vector<Entry> out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    JsonObject object(value[i], place / i);
    Entry& entry = out.emplace_back();
    object.read("name", entry.name, {.required = true});
    object.read("address", entry.address, {.required = true});
    object.read("namespace", entry.network_namespace, {.required = true});
    object.finish();
  }
  return out;
}

}  // namespace

void write_network_file(const fs::path& file, const Network& network) {
  Json hosts = Json::array();
  for (const Host& host : network.hosts()) {
    hosts.push_back({{"name", host.name},
                     {"address", host.address},
                     {"namespace", inode(host.network_namespace.value())}});
  }
  const Json all = {{"topology", network.topology().name}, {"hosts", std::move(hosts)}};
  write_atomically(file, all.dump(1) + "\n");
}

RunningNetwork::RunningNetwork(const fs::path& file) {
  const Json all = parse_json_file(file);
  JsonObject object(all, {file, ""});
  object.read("topology", topology_, {.required = true});
  const std::vector<Entry> entries = read_entries(object.get("hosts"), object.place_of("hosts"));
  object.finish();
  for (const fs::directory_entry& process : fs::directory_iterator("/proc")) {
    if (!is_number(process.path().filename())) continue;
    std::map<std::int64_t, FileDescriptor> held = namespaces_held_by(process.path());
    const auto holds = [&held](const Entry& entry) { return held.contains(entry.network_namespace); };
    if (!std::ranges::all_of(entries, holds)) continue;
    user_namespace_ = FileDescriptor::open(process.path() / "ns/user", O_RDONLY);
    for (const Entry& entry : entries) {
      hosts_.push_back({.name = entry.name,
                        .address = entry.address,
                        .network_namespace = NetworkNamespace(std::move(held.at(entry.network_namespace)))});
    }
    return;
  }
  throw Error(fmt::format(
      "enter the network of {}: no process holds it; the run has ended, is on another machine, or "
      "is another user's",
      file.parent_path().string()));
}

void RunningNetwork::enter_sandbox() const {
  const FileDescriptor own = FileDescriptor::open("/proc/self/ns/user", O_RDONLY);
  if (inode(own) == inode(user_namespace_)) return;
  const std::string attempt = "enter the sandbox of the run";
  system_call(attempt, ::setns(user_namespace_.get(), CLONE_NEWUSER));
  // The machine's root is nobody in another user's sandbox.
  system_call(attempt, ::setresgid(0, 0, 0));
  system_call(attempt, ::setresuid(0, 0, 0));
}

}  // namespace thinpipe::netem
