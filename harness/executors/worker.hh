// One worker process and its report channel, in an event loop.
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

namespace thinpipe {

class Worker {
 public:
  // Starts the process. Throws Error with the reason if it cannot.
  Worker(boost::asio::io_context& loop, const std::string& trainer, const WorkerCommand& command);

  // Calls `on_line` for every line that the worker reports from now on. Calls `on_end` once, after the last
  // line, when it has ended. `this` must outlive the loop's run.
  void watch(std::function<void(const std::string&)> on_line, std::function<void()> on_end);

  void signal(int number) const { process_.signal(number); }

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

  WorkerCommand command_;
  Pipe pipe_ = Pipe::create();  // the constructor hands on both ends
  ChildProcess process_;
  boost::asio::posix::stream_descriptor reports_;
  boost::asio::posix::stream_descriptor ended_;
  std::string buffer_;
  std::string line_;  // the beginning of an incomplete line
  std::optional<ExitStatus> exit_status_;
  std::function<void(const std::string&)> on_line_;
  std::function<void()> on_end_;
};

}  // namespace thinpipe
