// SPDX-License-Identifier: Apache-2.0
// A library that is preloaded into workers, because they share this machine's cores (netem/preload/preloaded.hh).
//
// A thread of Gloo, and so of PyTorch, leaves a message in its socket until the worker asks for it; meanwhile
// epoll_wait() reports the socket again and again, at once. A host of its own has a core for that. Here the thread
// would keep the core from the worker that is about to ask, for a whole slice of the scheduler's. So a thread that
// did nothing about the events it got lets others run before it polls again, like Open MPI with mpi_yield_when_idle.
#include <dlfcn.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

// True if epoll_wait() gave the thread events and it has neither received nor sent since. A thread that uses other
// calls than those below yields more often than it needs to, which harms nobody.
thread_local bool has_ignored_events = false;

// Returns the function that this library takes the place of.
template <class Function>
Function* replaced(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// The C library's own names of parameters are reserved.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

int epoll_wait(int fd, epoll_event* events, int most, int timeout_ms) {
  static auto* const wait = replaced<decltype(epoll_wait)>("epoll_wait");
  if (has_ignored_events) ::sched_yield();
  const int ready = wait(fd, events, most, timeout_ms);
  has_ignored_events = ready > 0;
  return ready;
}

ssize_t read(int fd, void* into, size_t bytes) {
  static auto* const receive = replaced<decltype(read)>("read");
  has_ignored_events = false;
  return receive(fd, into, bytes);
}

ssize_t recv(int fd, void* into, size_t bytes, int flags) {
  static auto* const receive = replaced<decltype(recv)>("recv");
  has_ignored_events = false;
  return receive(fd, into, bytes, flags);
}

ssize_t send(int fd, const void* from, size_t bytes, int flags) {
  static auto* const send_on = replaced<decltype(send)>("send");
  has_ignored_events = false;
  return send_on(fd, from, bytes, flags);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  static auto* const send_on = replaced<decltype(writev)>("writev");
  has_ignored_events = false;
  return send_on(fd, parts, count);
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
