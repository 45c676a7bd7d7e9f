// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/network_interface.hh"

#include <array>
#include <charconv>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {
namespace {

constexpr int bits_of_address = 32;

struct Candidate {
  NetworkInterface interface;
  std::uint32_t address = 0;  // in this machine's byte order
  bool is_loopback = false;
};

std::vector<Candidate> interfaces_that_are_up() {
  ifaddrs* first = nullptr;
  system_call("list the network interfaces", ::getifaddrs(&first));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(first, ::freeifaddrs);
  std::vector<Candidate> out;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET || (each->ifa_flags & IFF_UP) == 0)
      continue;
    const in_addr address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &address, text.data(), text.size());
    out.push_back({.interface = {.name = each->ifa_name, .address = text.data()},
                   .address = ntohl(address.s_addr),
                   .is_loopback = (each->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return out;
}

struct Subnet {
  std::uint32_t address = 0;
  int bits = 0;

  bool contains(std::uint32_t other) const {
    return bits == 0 || (address ^ other) >> (bits_of_address - bits) == 0;
  }
};

std::optional<Subnet> parse_subnet(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Subnet out;
  in_addr address{};
  const std::string_view bits = text.substr(slash + 1);
  const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), out.bits);
  const bool is_number = error == std::errc() && end == bits.data() + bits.size();
  if (!is_number || out.bits < 0 || out.bits > bits_of_address ||
      ::inet_pton(AF_INET, std::string(text.substr(0, slash)).c_str(), &address) != 1) {
    throw Error(fmt::format("\"{}\" is not a subnet such as \"10.1.0.0/16\"", text));
  }
  out.address = ntohl(address.s_addr);
  return out;
}

std::string described(const std::vector<Candidate>& interfaces) {
  std::vector<std::string> out;
  out.reserve(interfaces.size());
  for (const Candidate& each : interfaces)
    out.push_back(fmt::format("{} ({})", each.interface.name, each.interface.address));
  return out.empty() ? "none" : fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace

NetworkInterface find_interface(const std::string& choice) {
  const std::vector<Candidate> all = interfaces_that_are_up();
  const auto subnet = parse_subnet(choice);
  std::vector<Candidate> chosen;
  for (const Candidate& each : all) {
    const bool is_chosen = subnet           ? subnet->contains(each.address)
                           : choice.empty() ? !each.is_loopback
                                            : each.interface.name == choice;
    if (is_chosen) chosen.push_back(each);
  }
  if (chosen.size() == 1) return chosen.front().interface;
  const std::string wanted =
      choice.empty() ? "a network interface" : fmt::format("the network interface \"{}\"", choice);
  if (chosen.empty()) {
    throw Error(fmt::format("choose {}: there is none; those that are up and have an IPv4 address: {}",
                            wanted, described(all)));
  }
  throw Error(
      fmt::format("choose {}: there are several; name one or its subnet as \"interface\" in the topology: {}",
                  wanted, described(chosen)));
}

// proc(5): "name: " and 16 numbers, the bytes received first and the bytes sent ninth. Unlike /sys, these are always of the
// process's own network namespace.
InterfaceBytes bytes_of_interface(const std::string& name) {
  constexpr int numbers_between = 7;
  std::istringstream lines(read_file("/proc/self/net/dev"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos ||
        line.substr(line.find_first_not_of(' '), colon - line.find_first_not_of(' ')) != name)
      continue;
    std::istringstream numbers(line.substr(colon + 1));
    InterfaceBytes out;
    numbers >> out.received;
    for (std::int64_t skipped = 0, i = 0; i < numbers_between; ++i) numbers >> skipped;
    numbers >> out.sent;
    if (numbers) return out;
  }
  throw Error(fmt::format(
      "read the counters of the network interface \"{}\": /proc/self/net/dev does not have them", name));
}

std::optional<double> connected_bit_per_s(const std::string& name) {
  constexpr double bit_per_mbit = 1e6;
  ethtool_cmd settings{};
  settings.cmd = ETHTOOL_GSET;
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_data = reinterpret_cast<char*>(&settings);
  const FileDescriptor socket(system_call("open a socket", ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
  if (::ioctl(socket.get(), SIOCETHTOOL, &request) != 0) return std::nullopt;  // not a device of this kind
  const std::uint32_t mbit_per_s = ethtool_cmd_speed(&settings);
  if (mbit_per_s == 0 || mbit_per_s == static_cast<std::uint32_t>(SPEED_UNKNOWN)) return std::nullopt;
  return mbit_per_s * bit_per_mbit;
}

}  // namespace thinpipe::trainer
