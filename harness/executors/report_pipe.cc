// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/report_pipe.hh"

#include <array>
#include <system_error>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe {
namespace {

// Returns the new pipe, open for reading and writing: without a writer of our own, it would be at its end
// whenever no script has it open.
int create_pipe(const std::filesystem::path& path) {
  std::filesystem::remove(path);
  system_call("create the named pipe " + path.string(), ::mkfifo(path.c_str(), 0600));
  return FileDescriptor::open(path, O_RDWR | O_NONBLOCK).release();
}

}  // namespace

ReportPipe::ReportPipe(boost::asio::io_context& loop, std::filesystem::path path)
    : path_(std::move(path)), pipe_(loop, create_pipe(path_)) {}

ReportPipe::~ReportPipe() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void ReportPipe::watch(LineSplitter::OnLine on_line) {
  on_line_ = std::move(on_line);
  pipe_.non_blocking(true);
  read_on();
}

void ReportPipe::read_on() {
  pipe_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [this](const boost::system::error_code& error) {
                     if (error) return;
                     drain();
                     read_on();
                   });
}

void ReportPipe::drain() {
  // As much as a pipe holds, so one read empties it. A script that never stops writing cannot keep the loop here.
  std::array<char, 65536> buffer{};
  boost::system::error_code error;
  const std::size_t size = pipe_.read_some(boost::asio::buffer(buffer), error);
  splitter_.take({buffer.data(), size}, on_line_);
}

}  // namespace thinpipe
