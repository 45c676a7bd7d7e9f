// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/network_interface.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(NetworkInterface, IsFoundByNameOrSubnet) {
  EXPECT_EQ(find_interface("lo").address, "127.0.0.1");
  EXPECT_EQ(find_interface("127.0.0.0/8").name, "lo");
  EXPECT_EQ(find_interface("127.0.0.1/32").name, "lo");
}

TEST(NetworkInterface, TellsWhichThereAre) {
  EXPECT_THAT([] { find_interface("no-such"); },
              ThrowsMessage<Error>(testing::AllOf(HasSubstr("\"no-such\""), HasSubstr("lo (127.0.0.1)"))));
  EXPECT_THAT([] { find_interface("127.0.0.2/32"); }, ThrowsMessage<Error>(HasSubstr("there is none")));
}

TEST(NetworkInterface, RefusesWhatIsNoSubnet) {
  for (const char* text : {"127.0.0.0/", "127.0.0.0/33", "127.0.0/8", "127.0.0.0/-1", "127.0.0.0/8x", "/8"})
    EXPECT_THAT([=] { find_interface(text); }, ThrowsMessage<Error>(HasSubstr("is not a subnet"))) << text;
}

TEST(NetworkInterface, CountsWhatWasSent) {
  const InterfaceBytes before = bytes_of_interface("lo");
  sockaddr_in nobody{
      .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string message(1000, 'x');
  ASSERT_EQ(::sendto(socket.get(), message.data(), message.size(), 0, reinterpret_cast<sockaddr*>(&nobody),
                     sizeof nobody),
            1000);
  EXPECT_GE(bytes_of_interface("lo").sent, before.sent + 1000);
  EXPECT_GE(bytes_of_interface("lo").received, before.received + 1000);
  EXPECT_THAT([] { bytes_of_interface("no-such"); }, ThrowsMessage<Error>(HasSubstr("\"no-such\"")));
  EXPECT_EQ(connected_bit_per_s("lo"), std::nullopt);
}

}  // namespace
}  // namespace thinpipe::trainer
