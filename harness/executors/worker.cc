// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/worker.hh"

#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

constexpr int lowest_priority = 19;
// Progress bars end their lines with carriage returns.
constexpr std::string_view ends_of_output = "\n\r";

FileDescriptor open_log(const WorkerCommand& command) {
  return FileDescriptor::open(command.log, O_WRONLY | O_CREAT | O_APPEND);
}

// Runs in the child. Its own session keeps Ctrl-C on the terminal from it: that is for the controller.
void prepare(const WorkerCommand& command) {
  system_call("start a session", ::setsid());
  if (command.before_exec) command.before_exec();
}

// Runs in the child. As in thinpipe-trainer, the emulated network has priority over compute.
void prepare_script(const WorkerCommand& command) {
  prepare(command);
  const std::string folder = command.script->working_directory.string();
  system_call("change to the folder " + folder, ::chdir(folder.c_str()));
  system_call("lower the priority", ::setpriority(PRIO_PROCESS, 0, lowest_priority));
}

std::vector<std::string> launched(const WorkerCommand& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> out = command.launcher;
  out.insert(out.end(), arguments.begin(), arguments.end());
  return out;
}

ChildProcess start_script(const WorkerCommand& command, const FileDescriptor& output) {
  return ChildProcess({.arguments = launched(command, command.script->arguments),
                       .standard_output = output.get(),
                       .standard_error = output.get(),
                       .environment = command.script->environment,
                       .before_exec = [&command] { prepare_script(command); }});
}

std::vector<std::string> command_line(const std::string& trainer, const WorkerCommand& command) {
  if (command.program.empty()) return {trainer, command.command, command.input};
  if (command.needs_python) return {trainer, "python", command.program, command.command, command.input};
  return {command.program, command.command, command.input};
}

ChildProcess start(const std::string& trainer, const WorkerCommand& command, const FileDescriptor& reports) {
  if (command.script) return start_script(command, reports);
  const FileDescriptor log = open_log(command);
  return ChildProcess({.arguments = launched(command, command_line(trainer, command)),
                       .standard_output = reports.get(),
                       .standard_error = log.get(),
                       .environment = command.environment,
                       .before_exec = [&command] { prepare(command); }});
}

}  // namespace

Worker::Worker(boost::asio::io_context& loop, const std::string& trainer, const WorkerCommand& command)
    : command_(command),
      log_(command.script ? open_log(command) : FileDescriptor()),
      process_(start(trainer, command, pipe_.write_end)),
      reports_(loop, pipe_.read_end.release()),
      ended_(loop, system_call("copy a pidfd", ::fcntl(process_.pidfd().get(), F_DUPFD_CLOEXEC, 0))),
      buffer_(std::size_t{1} << 16, '\0'),
      splitter_(command.script ? ends_of_output : "\n") {
  pipe_.write_end.reset();  // so that the pipe ends when the worker does
}

Worker::~Worker() {
  if (exit_status_) return;
  if (!command_.launcher.empty()) end_launched();
  kill_descendants();
}

// A launcher that is killed leaves its program running on the other machine.
void Worker::end_launched() const {
  constexpr int grace_ms = 5000;
  process_.signal(SIGTERM);
  ::pollfd ended{.fd = process_.pidfd().get(), .events = POLLIN, .revents = 0};
  ::poll(&ended, 1, grace_ms);
}

void Worker::watch(LineSplitter::OnLine on_line, std::function<void()> on_end) {
  on_line_ = std::move(on_line);
  on_end_ = std::move(on_end);
  reports_.non_blocking(true);
  read_on();
  ended_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this](const boost::system::error_code& error) {
                      if (error) return;
                      kill_descendants();  // before its id, which is that of their group, is free again
                      exit_status_ = process_.wait();
                      drain();
                      on_end_();
                    });
}

void Worker::signal(int number) const {
  if (!command_.script) return process_.signal(number);
  if (!exit_status_) ::kill(-process_.pid(), number);
}

void Worker::kill_descendants() const {
  if (command_.script) ::kill(-process_.pid(), SIGKILL);
}

// proc(5): "pid (name) state …"; the name may contain any character, including a closing bracket.
bool Worker::is_stopped() const {
  try {
    const std::string stat = read_file(fmt::format("/proc/{}/stat", process_.pid()));
    const std::size_t state = stat.rfind(") ") + 2;
    return state < stat.size() && (stat[state] == 'T' || stat[state] == 't');
  } catch (const SystemError&) {
    return false;  // it has ended
  }
}

// Waits asynchronously, then reads synchronously. An asynchronous read could have emptied the pipe without
// having called its handler when the worker's end is noticed, and drain() would lose that data.
void Worker::read_on() {
  reports_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& error) {
                        if (error || exit_status_) return;
                        // After end of file, the pidfd reports the worker's end.
                        const auto failed = read_some().first;
                        if (!failed || failed == boost::asio::error::would_block) read_on();
                      });
}

std::pair<boost::system::error_code, std::size_t> Worker::read_some() {
  boost::system::error_code error;
  const std::size_t size = reports_.read_some(boost::asio::buffer(buffer_), error);
  take({buffer_.data(), size});
  return {error, size};
}

void Worker::take(std::string_view bytes) {
  if (log_) write_all(log_, bytes, "write " + command_.log.string());
  splitter_.take(bytes, on_line_);
}

// Reads what the worker wrote just before it ended. Reads only the bytes that are in the pipe now, because a
// process that it left behind may keep writing for ever.
void Worker::drain() {
  reports_.cancel();
  int left = 0;
  if (::ioctl(reports_.native_handle(), FIONREAD, &left) < 0) left = 0;
  while (left > 0) {
    const auto [error, size] = read_some();
    if (error || size == 0) break;
    left -= static_cast<int>(size);
  }
  splitter_.finish(on_line_);
}

}  // namespace thinpipe
