// SPDX-License-Identifier: Apache-2.0
// Captures of links, read back with libpcap.
#include "netem/link_captures.hh"

#include <array>
#include <cstring>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>

#include "common/support/tests/temporary_folder.hh"
#include "netem/tests/transfer.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t ethernet_header_bytes = 14;

Topology capped_pair() {
  return parse_topology({{"name", "pair"},
                         {"switches", {"s"}},
                         {"hosts", {"a", "b"}},
                         {"links",
                          {{{"between", {"a", "s"}}, {"rate", "100 Mbit/s"}, {"bottleneck", true}},
                           {{"between", {"s", "b"}}, {"rate", "200 Mbit/s"}}}}},
                        {"pair", ""});
}

struct Read {
  std::uint64_t frames = 0;
  std::int64_t payload_bytes = 0;  // of TCP, from the address
};

// Returns the frames of a file, and the payload that the host sent. Segments count once, as they are captured.
Read read_capture(const fs::path& file, const Host& sender) {
  std::array<char, PCAP_ERRBUF_SIZE> reason{};
  const std::unique_ptr<pcap_t, decltype(&pcap_close)> capture(pcap_open_offline(file.c_str(), reason.data()),
                                                               pcap_close);
  if (!capture) throw Error(reason.data());
  Read out;
  pcap_pkthdr* header = nullptr;
  const unsigned char* frame = nullptr;
  int result = 0;
  while ((result = pcap_next_ex(capture.get(), &header, &frame)) == 1) {
    ++out.frames;
    EXPECT_LE(header->caplen, static_cast<unsigned>(captured_frame_bytes));
    iphdr ip{};
    tcphdr tcp{};
    if (header->caplen < ethernet_header_bytes + sizeof ip + sizeof tcp) continue;
    std::memcpy(&ip, frame + ethernet_header_bytes, sizeof ip);
    const std::size_t ip_header_bytes = 4UL * ip.ihl;
    std::memcpy(&tcp, frame + ethernet_header_bytes + ip_header_bytes, sizeof tcp);
    if (ip.version != 4 || ip.protocol != IPPROTO_TCP || ip.saddr != ::inet_addr(sender.address.c_str()))
      continue;
    out.payload_bytes += ntohs(ip.tot_len) - static_cast<std::int64_t>(ip_header_bytes) - 4L * tcp.doff;
  }
  EXPECT_EQ(result, PCAP_ERROR_BREAK) << "the end of the file";
  return out;
}

class LinkCapturesTest : public testing::Test {
 protected:
  fs::path file(const std::string& name) const { return folder_.path() / name; }

  TemporaryFolder folder_;
  Network network_{capped_pair()};
  const Host& a_ = network_.host("a");
  const Host& b_ = network_.host("b");
};

TEST_F(LinkCapturesTest, HaveAllFramesOfBothDirections) {
  LinkCaptures captures(network_, {.links = {"bottlenecks", "s->b"}}, folder_.path());
  {
    const Connection connection = connect_hosts(a_, b_);
    transfer(connection, 300'000);
  }
  transfer(connect_hosts(b_, a_), 50'000);
  const std::vector<LinkCapture> ended = captures.end();
  ASSERT_EQ(ended.size(), 2U);
  for (const LinkCapture& capture : ended) {
    EXPECT_EQ(capture.problem, "");
    EXPECT_EQ(capture.counts.missed, 0U);
    const Read from_a = read_capture(capture.file, a_);
    EXPECT_EQ(from_a.frames, capture.counts.frames);
    EXPECT_EQ(from_a.payload_bytes, 300'000);
    EXPECT_EQ(read_capture(capture.file, b_).payload_bytes, 50'000);
  }
  EXPECT_EQ(ended[0].file, file("a-s.pcap"));
  EXPECT_EQ(ended[1].file, file("s-b.pcap"));
}

TEST_F(LinkCapturesTest, CanBeReadWhileTheyGrow) {
  const LinkCaptures captures(network_, {.links = {"a-s"}}, folder_.path());
  transfer(connect_hosts(a_, b_), 100'000);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_EQ(read_capture(file("a-s.pcap"), a_).payload_bytes, 100'000);
}

TEST_F(LinkCapturesTest, KeepTheNewestFramesWithinTheirSize) {
  constexpr std::int64_t max_bytes = 10'000;
  LinkCaptures captures(network_, {.links = {"a-s"}, .max_bytes = max_bytes}, folder_.path());
  transfer(connect_hosts(a_, b_), 1'000'000);
  const LinkCapture ended = captures.end().front();
  EXPECT_EQ(ended.problem, "");
  const Read newest = read_capture(file("a-s.pcap"), a_);
  const Read older = read_capture(file("a-s.older.pcap"), a_);
  EXPECT_GT(newest.frames, 0U);
  EXPECT_GT(older.frames, 20U);
  EXPECT_GT(ended.counts.frames, newest.frames + older.frames) << "nothing had to go";
  EXPECT_LE(
      static_cast<std::int64_t>(fs::file_size(file("a-s.pcap")) + fs::file_size(file("a-s.older.pcap"))),
      max_bytes);
}

TEST_F(LinkCapturesTest, GoOnAfterTheLinkWasDown) {
  LinkCaptures captures(network_, {.links = {"a-s"}}, folder_.path());
  network_.set_link_up(0, false);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  network_.set_link_up(0, true);
  transfer(connect_hosts(a_, b_), 100'000);
  const LinkCapture ended = captures.end().front();
  EXPECT_EQ(ended.problem, "");
  EXPECT_EQ(read_capture(ended.file, a_).payload_bytes, 100'000);
}

TEST(LinkCapturesNamesTest, LinksThatWouldShareAFileAreRefused) {
  const Topology topology = parse_topology({{"name", "dashes"},
                                            {"switches", {"a", "a-b", "b-c", "c"}},
                                            {"hosts", {"h"}},
                                            {"links",
                                             {{{"between", {"a", "b-c"}}, {"rate", "100 Mbit/s"}},
                                              {{"between", {"a-b", "c"}}, {"rate", "100 Mbit/s"}},
                                              {{"between", {"c", "b-c"}}, {"rate", "100 Mbit/s"}},
                                              {{"between", {"h", "a"}}}}}},
                                           {"dashes", ""});
  const Place place{"--capture", ""};
  EXPECT_NO_THROW(check_links({.links = {"a->b-c", "b-c->a", "c-b-c"}}, topology, place));
  try {
    check_links({.links = {"a->b-c", "a-b->c"}}, topology, place);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("--capture: the links a->b-c and a-b->c would share the file a-b-c.pcap"));
  }
}

TEST_F(LinkCapturesTest, TellWhatEndedThem) {
  fs::create_symlink("/dev/full", file("a-s.pcap"));
  LinkCaptures captures(network_, {.links = {"a-s"}}, folder_.path());
  transfer(connect_hosts(a_, b_), 100'000);
  EXPECT_THAT(captures.end(), ElementsAre(testing::Field(&LinkCapture::problem,
                                                         HasSubstr("a-s.pcap: No space left on device"))));
}

}  // namespace
}  // namespace thinpipe::netem
