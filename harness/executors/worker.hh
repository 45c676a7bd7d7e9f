// SPDX-License-Identifier: Apache-2.0
// One worker process and the channel of its lines, in an event loop: a worker program reports events on standard
// output; a script prints lines for its log.
#pragma once

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "common/support/child_process.hh"
#include "common/support/file_descriptor.hh"
#include "harness/executors/executor.hh"
#include "harness/executors/line_splitter.hh"

namespace thinpipe {

class Worker {
 public:
  // Starts the process. Throws Error with the reason if it cannot.
  Worker(boost::asio::io_context& loop, const std::string& trainer, const WorkerCommand& command);
  // Kills a script's descendants with it.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Calls `on_line` for every line that the worker writes from now on. Calls `on_end` once, after the last
  // line, when it has ended. `this` must outlive the loop's run.
  void watch(LineSplitter::OnLine on_line, std::function<void()> on_end);

  // Sends a signal: to the process, or to a script and its descendants.
  void signal(int number) const;

  // Returns whether a signal, such as SIGSTOP, has stopped the process.
  bool is_stopped() const;

  const WorkerCommand& command() const { return command_; }
  const std::optional<ExitStatus>& exit_status() const { return exit_status_; }

 private:
  void read_on();
  // Reads some of the available bytes. Returns their number, or an error if there are none.
  std::pair<boost::system::error_code, std::size_t> read_some();
  void take(std::string_view bytes);
  void drain();

  void end_launched() const;
  // Kills what is left of a script's process group.
  void kill_descendants() const;

  WorkerCommand command_;
  FileDescriptor log_;          // of a script; other workers write to theirs themselves
  Pipe pipe_ = Pipe::create();  // the constructor hands on both ends
  ChildProcess process_;
  boost::asio::posix::stream_descriptor reports_;
  boost::asio::posix::stream_descriptor ended_;
  std::string buffer_;
  LineSplitter splitter_;
  std::optional<ExitStatus> exit_status_;
  LineSplitter::OnLine on_line_;
  std::function<void()> on_end_;
};

}  // namespace thinpipe
