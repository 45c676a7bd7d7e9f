#include "netem/kernel/host.hh"

#include <sched.h>
#include <sys/mount.h>

#include "common/support/exception.hh"

namespace thinpipe::netem {

void Host::enter() const {
  if (!network_namespace) return;
  network_namespace->enter();
  system_call("make IPC and mount namespaces for " + name, ::unshare(CLONE_NEWIPC | CLONE_NEWNS));
  system_call("mount a private /dev/shm for " + name,
              ::mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"));
}

}  // namespace thinpipe::netem
