// SPDX-License-Identifier: Apache-2.0
// A network namespace held by a file descriptor. It has no name in the file system and disappears with its
// last holder.
#pragma once

#include <functional>
#include <utility>

#include "common/support/file_descriptor.hh"

namespace thinpipe::netem {

class NetworkNamespace {
 public:
  // Creates a namespace whose only device is the loopback device, which is down. IPv6 and packet filters on
  // bridges are off.
  NetworkNamespace();
  // Takes one that exists. `fd`: of /proc/…/ns/net or the like.
  explicit NetworkNamespace(FileDescriptor fd) : fd_(std::move(fd)) {}

  // Lets the namespace forward packets for other hosts, by its routes.
  void forward_packets() const;

  // Lets the namespace's TCP connections ask for ECN, and reads that back. By default they only agree to it.
  void negotiate_ecn() const;

  int fd() const { return fd_.get(); }

  // Moves the calling thread into the namespace.
  void enter() const;

  // Runs `work` in a new thread inside the namespace and rethrows its exception. A socket that `work` opens
  // stays in the namespace, whoever uses it later.
  void run(const std::function<void()>& work) const;

 private:
  FileDescriptor fd_;
};

}  // namespace thinpipe::netem
