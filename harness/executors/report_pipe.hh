// SPDX-License-Identifier: Apache-2.0
// The named pipe through which a training script reports (trainer/python/thinpipe/reporting.py). Any process that
// knows its path can write to it: the script, its children, and theirs. Reports are lines of at most PIPE_BUF
// bytes, so the kernel does not mix those of several writers.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "harness/executors/line_splitter.hh"

namespace thinpipe {

class ReportPipe {
 public:
  // Creates the pipe, in place of any file of that name. Throws SystemError.
  ReportPipe(boost::asio::io_context& loop, std::filesystem::path path);
  // Removes it.
  ~ReportPipe();
  ReportPipe(const ReportPipe&) = delete;
  ReportPipe& operator=(const ReportPipe&) = delete;

  // Calls `on_line` for every line from now on. `this` must outlive the loop's run.
  void watch(LineSplitter::OnLine on_line);

  // Passes on the lines that are in the pipe now.
  void drain();

 private:
  void read_on();

  std::filesystem::path path_;
  boost::asio::posix::stream_descriptor pipe_;
  LineSplitter splitter_;
  LineSplitter::OnLine on_line_;
};

}  // namespace thinpipe
