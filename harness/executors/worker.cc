#include "harness/executors/worker.hh"

#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

// No event is longer: a runaway writer must not fill the controller's memory.
constexpr std::size_t max_line_bytes = std::size_t{1} << 20;

ChildProcess start(const std::string& trainer, const WorkerCommand& command, const FileDescriptor& reports) {
  const FileDescriptor log = FileDescriptor::open(command.log, O_WRONLY | O_CREAT | O_APPEND);
  const std::string program = command.program.empty() ? trainer : command.program.string();
  return ChildProcess({.arguments = {program, command.command, command.input},
                       .standard_output = reports.get(),
                       .standard_error = log.get(),
                       .before_exec = [&command] {
                         // In its own session, so that Ctrl-C on the terminal reaches only the controller.
                         system_call("start a session", ::setsid());
                         if (command.before_exec) command.before_exec();
                       }});
}

}  // namespace

Worker::Worker(boost::asio::io_context& loop, const std::string& trainer, const WorkerCommand& command)
    : command_(command),
      process_(start(trainer, command, pipe_.write_end)),
      reports_(loop, pipe_.read_end.release()),
      ended_(loop, system_call("copy a pidfd", ::fcntl(process_.pidfd().get(), F_DUPFD_CLOEXEC, 0))),
      buffer_(std::size_t{1} << 16, '\0') {
  pipe_.write_end.reset();  // so that the pipe ends when the worker does
}

void Worker::watch(std::function<void(const std::string&)> on_line, std::function<void()> on_end) {
  on_line_ = std::move(on_line);
  on_end_ = std::move(on_end);
  reports_.non_blocking(true);
  read_on();
  ended_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this](const boost::system::error_code& error) {
                      if (error) return;
                      exit_status_ = process_.wait();
                      drain();
                      on_end_();
                    });
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
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    line_ += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(line_, {});
    on_line_(line);
  }
  line_ += bytes;
  if (line_.size() > max_line_bytes) {
    on_line_(line_);
    line_.clear();
  }
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
  if (!line_.empty()) on_line_(std::exchange(line_, {}));
}

}  // namespace thinpipe
