#include "trainer/atomic_file.hh"

#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "harness/support/exception.hh"

namespace thinpipe::trainer {

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)),
      temporary_(fmt::format("{}.{}.tmp", path_, ::getpid())),
      file_(FileDescriptor::open(temporary_, O_WRONLY | O_CREAT | O_TRUNC)) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  write_all(file_, bytes, "write " + temporary_);
}

void AtomicFile::commit() {
  system_call("flush " + temporary_ + " to disk", ::fsync(file_.get()));
  system_call("rename " + temporary_ + " to " + path_, ::rename(temporary_.c_str(), path_.c_str()));
  temporary_.clear();
}

}  // namespace thinpipe::trainer
