// SPDX-License-Identifier: Apache-2.0
// Captures the frames that pass a network device, in files that tcpdump and Wireshark read (pcap, by libpcap).
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <pcap/pcap.h>

#include "netem/kernel/network_namespace.hh"

namespace thinpipe::netem {

// The first bytes of a frame that are kept: the headers of Ethernet, IP and TCP with all options, and a few bytes more.
inline constexpr int captured_frame_bytes = 128;

// The newest frames of a capture, in two files of half the permitted size each: `file`, and the one before it, which has
// ".older" before its extension. Frames are in the file at the latest a second after they passed, whatever happens to this
// process.
class CaptureFile {
 public:
  CaptureFile(pcap_t* capture, std::filesystem::path file, std::int64_t max_bytes);

  // Begins a new file if this one is full. Throws SystemError, also for earlier frames.
  void add(const pcap_pkthdr& header, const unsigned char* frame);
  // Hands everything to the kernel. Throws SystemError.
  void flush();

 private:
  void open();

  pcap_t* capture_;
  std::filesystem::path file_;
  std::int64_t max_bytes_;
  std::int64_t bytes_ = 0;
  std::unique_ptr<pcap_dumper_t, decltype(&pcap_dump_close)> dump_{nullptr, pcap_dump_close};
};

class PacketCapture {
 public:
  // Begins to capture what the device sends, as it leaves its queue, and what it receives. At most `max_bytes` stay on disk.
  // Throws Error.
  PacketCapture(const NetworkNamespace& location, const std::string& device,
                const std::filesystem::path& file, std::int64_t max_bytes);
  ~PacketCapture();
  PacketCapture(const PacketCapture&) = delete;
  PacketCapture& operator=(const PacketCapture&) = delete;

  struct Counts {
    std::uint64_t frames = 0;
    std::uint64_t missed = 0;  // passed while the capture was too busy
  };
  // Ends the capture. Throws what has ended it before: SystemError if a file could not be written.
  Counts end();

 private:
  void capture_until(const std::stop_token& stop);
  void take_waiting();

  std::unique_ptr<pcap_t, decltype(&pcap_close)> capture_{nullptr, pcap_close};
  std::unique_ptr<CaptureFile> file_;
  Counts counts_;
  std::exception_ptr failure_;
  std::string attempt_;
  std::jthread thread_;
};

}  // namespace thinpipe::netem
