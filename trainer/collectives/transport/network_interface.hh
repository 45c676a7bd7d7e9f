// SPDX-License-Identifier: Apache-2.0
// A network interface of this machine, by its name or by the subnet of its address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace thinpipe::trainer {

struct NetworkInterface {
  std::string name;
  std::string address;  // dotted IPv4
};

// Returns the interface that `choice` names: a name such as "eth0", or an IPv4 subnet such as "10.1.0.0/16". Empty: the
// only one that is up, beside the loopback. Throws Error with the interfaces of this machine if there is none, or more
// than one.
NetworkInterface find_interface(const std::string& choice);

struct InterfaceBytes {
  std::int64_t sent = 0;
  std::int64_t received = 0;
};

// Returns the kernel's counts, headers included. Throws Error if the interface is gone.
InterfaceBytes bytes_of_interface(const std::string& name);

// Returns the rate at which the interface is connected; nullopt if it does not tell, such as a virtual one.
std::optional<double> connected_bit_per_s(const std::string& name);

}  // namespace thinpipe::trainer
