// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/rendezvous.hh"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <poll.h>
#include <spdlog/spdlog.h>

#include "common/support/exception.hh"
#include "trainer/base/stopwatch.hh"
#include "trainer/collectives/transport/peer_sockets.hh"

namespace thinpipe::trainer {
namespace {

namespace fs = std::filesystem;
using Notice = PeerListener::Notice;

constexpr std::chrono::milliseconds poll_period{20};
// At most, of a place that may be somebody else's.
constexpr double answer_timeout_s = 5;

// The folder: each worker writes a file, and reads those of the others.

fs::path file_of(const fs::path& folder, int rank) {
  return folder / fmt::format("notice-{}", rank);
}

void publish(const fs::path& file, const Notice& notice) {
  const fs::path temporary = file.string() + ".new";
  {
    const FileDescriptor written = FileDescriptor::open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    write_all(written, {reinterpret_cast<const char*>(&notice), sizeof notice},
              "write " + temporary.string());
  }
  fs::rename(temporary, file);
}

std::optional<Notice> published(const fs::path& file) {
  if (!fs::exists(file)) return std::nullopt;
  const std::string text = read_file(file);
  Notice out;
  if (text.size() != sizeof out) throw Error("read " + file.string() + ": it is not a worker's notice");
  std::memcpy(&out, text.data(), sizeof out);
  return out;
}

std::vector<Notice> meet_in_folder(const GroupOptions& group, const Notice& own, double timeout_s) {
  const fs::path folder = group.rendezvous_directory;
  publish(file_of(folder, group.rank), own);
  std::vector<Notice> out(static_cast<std::size_t>(group.world_size));
  std::vector<int> missing(out.size());
  std::iota(missing.begin(), missing.end(), 0);
  const Stopwatch since;
  while (true) {
    std::erase_if(missing, [&](int rank) {
      const auto found = published(file_of(folder, rank));
      if (found) out[static_cast<std::size_t>(rank)] = *found;
      return found.has_value();
    });
    if (missing.empty()) return out;
    if (since.elapsed_s() > timeout_s)
      throw Error(fmt::format("wait for rank {} in {}: not there after {} s", fmt::join(missing, ", "),
                              folder.string(), timeout_s));
    std::this_thread::sleep_for(poll_period);
  }
}

// The first worker's address: it listens at the first of several ports that is free. The others try them all, because
// another program may listen at one, and send their notices; they get those of all.

struct Places {
  std::string address;
  std::vector<std::uint16_t> ports;
};

Places places_of(const std::vector<std::string>& texts) {
  Places out;
  for (const std::string& text : texts) {
    const std::size_t colon = text.rfind(':');
    std::uint16_t port = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + std::min(colon, text.size() - 1) + 1, last, port);
    const std::string address = text.substr(0, colon);
    if (colon == std::string::npos || error != std::errc() || end != last || port == 0 ||
        (!out.address.empty() && address != out.address)) {
      throw Error(
          fmt::format("read the rendezvous {}: it must be ports of one address, such as \"10.1.0.1:20000\"",
                      fmt::join(texts, ", ")));
    }
    out.address = address;
    out.ports.push_back(port);
  }
  return out;
}

Notice notice_at(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int result = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (result != 0) throw Error("look up address " + address + ": " + ::gai_strerror(result));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  Notice out;
  std::memcpy(&out.address, found->ai_addr, found->ai_addrlen);
  out.address_bytes = found->ai_addrlen;
  return out;
}

void make_blocking(const FileDescriptor& socket) {
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) != 0)
    throw SystemError("let a socket block", errno);
}

std::vector<Notice> receive_all(const Places& places, const GroupOptions& group, const RunToken& secret,
                                const Notice& own, double timeout_s) {
  const PeerListener listener(
      {.address = places.address, .ports = places.ports, .secret = secret, .challenge = PeerChallenge{}});
  std::vector<int> others(static_cast<std::size_t>(group.world_size) - 1);
  std::iota(others.begin(), others.end(), 1);
  const auto sockets = listener.accept(others, timeout_s);
  std::vector<Notice> out(static_cast<std::size_t>(group.world_size));
  out[0] = own;
  for (const auto& [rank, socket] : sockets) {
    make_blocking(socket);
    set_timeouts(socket, timeout_s);
    Notice& into = out[static_cast<std::size_t>(rank)];
    receive_bytes(socket, std::as_writable_bytes(std::span(&into, 1)),
                  fmt::format("receive the notice of rank {}", rank));
  }
  for (const auto& [rank, socket] : sockets)
    send_bytes(socket, std::as_bytes(std::span(out)), fmt::format("send all notices to rank {}", rank));
  return out;
}

// Returns nullopt if the rendezvous is not at this port, or not yet.
std::optional<std::vector<Notice>> try_to_join(const Notice& place, const GroupOptions& group,
                                               const RunToken& secret, const Notice& own, double timeout_s,
                                               const std::string& attempt) {
  std::optional<OutgoingPeer> first;
  try {
    first.emplace(place, &own, PeerProof(secret, PeerChallenge{}), group.rank,
                  std::min(timeout_s, answer_timeout_s), attempt);
    first->send(std::as_bytes(std::span(&own, 1)));
    first->expect_answer();
  } catch (const std::exception& error) {
    spdlog::debug("{}", error.what());
    return std::nullopt;
  }
  std::vector<Notice> out(static_cast<std::size_t>(group.world_size));
  first->set_timeout(timeout_s);
  first->receive(std::as_writable_bytes(std::span(out)));
  return out;
}

std::vector<Notice> join(const Places& places, const GroupOptions& group, const RunToken& secret,
                         const Notice& own, double timeout_s) {
  const std::string attempt = fmt::format("join the rendezvous at {}", places.address);
  const Stopwatch since;
  while (true) {
    for (const std::uint16_t port : places.ports) {
      if (auto all = try_to_join(notice_at(places.address, port), group, secret, own, timeout_s, attempt))
        return *std::move(all);
    }
    if (since.elapsed_s() > timeout_s) {
      throw Error(fmt::format("{}, port {}: the first worker did not answer for {} s", attempt,
                              fmt::join(places.ports, " or "), timeout_s));
    }
    std::this_thread::sleep_for(poll_period);
  }
}

}  // namespace

std::vector<Notice> meet(const GroupOptions& group, const std::optional<RunToken>& secret, const Notice& own,
                         double timeout_s) {
  if (group.rendezvous_addresses.empty()) return meet_in_folder(group, own, timeout_s);
  const Places places = places_of(group.rendezvous_addresses);
  if (!secret)
    throw Error(
        fmt::format("meet at {}: this needs the run's token, in {}", places.address, run_token_variable));
  return group.rank == 0 ? receive_all(places, group, *secret, own, timeout_s)
                         : join(places, group, *secret, own, timeout_s);
}

}  // namespace thinpipe::trainer
