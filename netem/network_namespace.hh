// A network namespace held by a file descriptor: it has no name in the file system, and vanishes with its
// last holder.
#pragma once

#include <functional>

#include "harness/support/file_descriptor.hh"

namespace thinpipe::netem {

class NetworkNamespace {
 public:
  // A new namespace with IPv6 and the bridges' packet filters off, and nothing but a loopback device that is
  // down.
  NetworkNamespace();

  // Lets it pass on, by its routes, packets that are not for itself.
  void forward_packets() const;

  int fd() const { return fd_.get(); }

  // Moves the calling thread into it.
  void enter() const;

  // Runs `work` in a thread of its own inside the namespace; what it throws is thrown here.
  // A socket that it opens stays in the namespace, whoever uses it afterwards.
  void run(const std::function<void()>& work) const;

 private:
  FileDescriptor fd_;
};

}  // namespace thinpipe::netem
