// SPDX-License-Identifier: Apache-2.0
// Captures of links of a network: one per link, with the frames of both directions as they are on the link, after its queues.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "netem/network.hh"
#include "netem/packet_capture.hh"

namespace thinpipe::netem {

struct CaptureOptions {
  std::vector<std::string> links = {};   // as the user names them: LinkNames; empty: no captures
  std::int64_t max_bytes = 100'000'000;  // on disk, of each link
};

// Throws InputError at `place` if a name of the options is not that of a link, or two links would share a file.
void check_links(const CaptureOptions& options, const Topology& topology, const Place& place);

// What became of a link's capture.
struct LinkCapture {
  std::string link;
  std::filesystem::path file;
  PacketCapture::Counts counts = {};
  std::string problem = {};  // empty, or what ended it early
};

class LinkCaptures {
 public:
  // Begins to capture to "left-middle.pcap" in the folder. Throws InputError as check_links() does, and Error. `network` must
  // outlive this.
  LinkCaptures(const Network& network, const CaptureOptions& options, const std::filesystem::path& folder);

  // Ends all captures. Call it once.
  std::vector<LinkCapture> end();

 private:
  std::vector<LinkCapture> links_;
  std::vector<std::unique_ptr<PacketCapture>> captures_;  // of the same links
};

}  // namespace thinpipe::netem
