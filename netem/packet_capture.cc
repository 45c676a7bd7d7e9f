// SPDX-License-Identifier: Apache-2.0
#include "netem/packet_capture.hh"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include <fcntl.h>
#include <poll.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe::netem {
namespace {

constexpr int ring_bytes = 8 << 20;
constexpr std::chrono::milliseconds flush_period{200};
constexpr std::int64_t file_header_bytes = 24;
constexpr std::int64_t frame_header_bytes = 16;

}  // namespace

CaptureFile::CaptureFile(pcap_t* capture, std::filesystem::path file, std::int64_t max_bytes)
    : capture_(capture), file_(std::move(file)), max_bytes_(max_bytes) {
  open();
}

void CaptureFile::add(const pcap_pkthdr& header, const unsigned char* frame) {
  const std::int64_t bytes = frame_header_bytes + header.caplen;
  if (bytes_ + bytes > max_bytes_ / 2) {
    flush();
    std::filesystem::path older = file_;
    std::filesystem::rename(file_, older.replace_extension(".older" + file_.extension().string()));
    open();
  }
  pcap_dump(reinterpret_cast<unsigned char*>(dump_.get()), &header, frame);
  bytes_ += bytes;
}

void CaptureFile::flush() {
  if (pcap_dump_flush(dump_.get()) != 0 || std::ferror(pcap_dump_file(dump_.get())) != 0)
    throw SystemError("write " + file_.string(), errno);
}

// A program that this one starts must not inherit the file.
void CaptureFile::open() {
  FileDescriptor descriptor = FileDescriptor::open(file_.string(), O_WRONLY | O_CREAT | O_TRUNC);
  std::FILE* const stream = ::fdopen(descriptor.get(), "w");
  if (stream == nullptr) throw SystemError("open " + file_.string(), errno);
  descriptor.release();
  dump_.reset(pcap_dump_fopen(capture_, stream));
  if (!dump_) throw Error("open " + file_.string() + ": " + pcap_geterr(capture_));
  bytes_ = file_header_bytes;
}

PacketCapture::PacketCapture(const NetworkNamespace& location, const std::string& device,
                             const std::filesystem::path& file, std::int64_t max_bytes)
    : attempt_("capture the frames of " + device) {
  location.run([&] {
    std::array<char, PCAP_ERRBUF_SIZE> reason{};
    capture_.reset(pcap_create(device.c_str(), reason.data()));
    if (!capture_) throw Error(attempt_ + ": " + reason.data());
    pcap_t* const capture = capture_.get();
    pcap_set_snaplen(capture, captured_frame_bytes);
    pcap_set_buffer_size(capture, ring_bytes);
    pcap_set_timeout(capture, static_cast<int>(flush_period.count()));
    pcap_set_tstamp_precision(capture, PCAP_TSTAMP_PRECISION_NANO);
    if (pcap_activate(capture) < 0 || pcap_setnonblock(capture, 1, reason.data()) < 0)
      throw Error(attempt_ + ": " + pcap_geterr(capture));
    // Programs that this one starts must not inherit the socket.
    system_call(attempt_, ::fcntl(pcap_fileno(capture), F_SETFD, FD_CLOEXEC));
  });
  file_ = std::make_unique<CaptureFile>(capture_.get(), file, max_bytes);
  thread_ = std::jthread([this](const std::stop_token& stop) { capture_until(stop); });
}

PacketCapture::~PacketCapture() = default;  // ends the thread first

PacketCapture::Counts PacketCapture::end() {
  thread_ = {};
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  pcap_stat kernels{};
  if (pcap_stats(capture_.get(), &kernels) == 0) counts_.missed = kernels.ps_drop;
  return counts_;
}

void PacketCapture::capture_until(const std::stop_token& stop) {
  try {
    while (!stop.stop_requested()) {
      pollfd arrival{.fd = pcap_get_selectable_fd(capture_.get()), .events = POLLIN, .revents = 0};
      ::poll(&arrival, 1, static_cast<int>(flush_period.count()));
      take_waiting();
    }
    take_waiting();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void PacketCapture::take_waiting() {
  pcap_pkthdr* header = nullptr;
  const unsigned char* frame = nullptr;
  int taken = 0;
  while ((taken = pcap_next_ex(capture_.get(), &header, &frame)) == 1) {
    file_->add(*header, frame);
    ++counts_.frames;
  }
  if (taken < 0) throw Error(attempt_ + ": " + pcap_geterr(capture_.get()));
  file_->flush();
}

}  // namespace thinpipe::netem
