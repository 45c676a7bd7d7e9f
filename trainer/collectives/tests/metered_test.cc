// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/metered.hh"

#include <thread>

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"

namespace thinpipe::trainer {
namespace {

constexpr int world_size = 3;

void run_metered(const std::function<void(MeteredCollective&)>& worker) {
  InProcessGroup group(world_size);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      MeteredCollective net(group.join(rank));
      worker(net);
    });
  }
}

void pause() {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

TEST(MeteredCollective, CountsEachOperationByItsFormula) {
  run_metered([](MeteredCollective& net) {
    EXPECT_EQ(net.world_size(), 3);
    net.all_reduce(torch::zeros(300, torch::kFloat16), Reduction::sum);
    EXPECT_EQ(net.traffic().payload_bytes, 600);
    EXPECT_DOUBLE_EQ(net.traffic().sent_bytes, 800);  // 2 * 600 * 2/3
    EXPECT_EQ(net.traffic().delivered_bytes, 600);

    const std::int64_t counts[] = {1, 20, 300};
    net.all_gather_v(torch::zeros(counts[net.rank()], torch::kInt32), counts);
    const std::int64_t gathered_payload[] = {4, 80, 1200};
    const double gathered_sent[] = {4 * 301, 4 * 21, 4 * 320};
    EXPECT_EQ(net.traffic().payload_bytes, 600 + gathered_payload[net.rank()]);
    EXPECT_DOUBLE_EQ(net.traffic().sent_bytes, 800 + gathered_sent[net.rank()]);
    EXPECT_EQ(net.traffic().delivered_bytes, 600 + 4 * 321 - gathered_payload[net.rank()]);

    const Traffic before = net.traffic();
    net.broadcast(torch::zeros(10, torch::kInt64), 2);
    const double broadcast_sent[] = {0, 0, 160};  // the root sends to both others
    EXPECT_EQ(net.traffic().payload_bytes - before.payload_bytes, net.rank() == 2 ? 80 : 0);
    EXPECT_DOUBLE_EQ(net.traffic().sent_bytes - before.sent_bytes, broadcast_sent[net.rank()]);
    EXPECT_EQ(net.traffic().delivered_bytes - before.delivered_bytes, net.rank() == 2 ? 0 : 80);

    const Traffic before_all_to_all = net.traffic();
    const std::int64_t parts[] = {3, 3, 3};
    net.all_to_all_v(torch::zeros(9, torch::kInt16), parts, parts);
    EXPECT_EQ(net.traffic().payload_bytes - before_all_to_all.payload_bytes, 18);
    // The part for itself is not sent.
    EXPECT_DOUBLE_EQ(net.traffic().sent_bytes - before_all_to_all.sent_bytes, 12);
    EXPECT_EQ(net.traffic().delivered_bytes - before_all_to_all.delivered_bytes, 12);

    net.barrier();
    EXPECT_EQ(net.traffic().collectives, 5);
    EXPECT_GT(net.traffic().time.elapsed_s, 0);
  });
}

TEST(MeteredCollective, MessagesAreDeliveredToTheirReceiver) {
  run_metered([](MeteredCollective& net) {
    const auto point_to_point = net.open_point_to_point(40);
    if (net.rank() == 0) point_to_point->send(1, torch::zeros(40, torch::kByte));
    if (net.rank() == 1) point_to_point->receive();
    point_to_point->close();
    EXPECT_EQ(net.traffic().payload_bytes, net.rank() == 0 ? 40 : 0);
    EXPECT_EQ(net.traffic().delivered_bytes, net.rank() == 1 ? 40 : 0);
    EXPECT_EQ(net.traffic().collectives, 1);
    // A worker that leaves ends the other's wait for a message.
    net.barrier();
  });
}

TEST(MeteredCollective, NothingIsDeliveredToASingleWorker) {
  InProcessGroup group(1);
  MeteredCollective net(group.join(0));
  net.all_reduce(torch::zeros(300), Reduction::sum);
  net.all_reduce_quantised(torch::zeros(300, torch::kInt8), 1, {});
  const std::int64_t counts[] = {20};
  net.all_gather_v(torch::zeros(20), counts);
  net.all_to_all_v(torch::zeros(20), counts, counts);
  EXPECT_EQ(net.traffic().delivered_bytes, 0);
}

TEST(MeteredCollective, PassesResultsThrough) {
  run_metered([](MeteredCollective& net) {
    torch::Tensor tensor = torch::full({2}, net.rank());
    net.all_reduce(tensor, Reduction::max);
    EXPECT_EQ(tensor[1].item<int>(), 2);
    const std::int64_t counts[] = {1, 1, 1};
    EXPECT_TRUE(torch::equal(net.all_gather_v(torch::full({1}, net.rank()), counts), torch::arange(3)));
  });
}

TEST(MeteredCollective, SectionSplitsTheTimeAroundCollectives) {
  run_metered([](MeteredCollective& net) {
    net.all_reduce(torch::zeros(7), Reduction::sum);
    const double time_before_s = net.traffic().time.elapsed_s;
    const auto began = std::chrono::steady_clock::now();
    net.begin_section();
    pause();
    net.all_reduce(torch::zeros(1), Reduction::max);
    pause();
    net.all_reduce(torch::zeros(300), Reduction::sum);
    pause();
    const Section section = net.end_section();
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - began;

    EXPECT_EQ(section.payload_bytes, 1204);
    EXPECT_NEAR(section.sent_bytes, 1204 * 4 / 3., 1e-9);
    EXPECT_EQ(section.delivered_bytes, 1204);
    EXPECT_EQ(section.collectives, 2);
    EXPECT_GE(section.encode_s, 0.004);
    EXPECT_GE(section.between_collectives_s, 0.002);
    EXPECT_GE(section.encode_s - section.between_collectives_s, 0.002);
    EXPECT_LE(section.between_collectives_cpu_s, section.between_collectives_s);
    EXPECT_GE(section.decode_s, 0.002);
    EXPECT_NEAR(section.exchange_s, net.traffic().time.elapsed_s - time_before_s, 1e-12);
    EXPECT_LE(section.encode_s + section.exchange_s + section.decode_s, whole.count());
    EXPECT_LE(section.encode_cpu_s, section.encode_s);
    EXPECT_LE(section.decode_cpu_s, section.decode_s);
  });
}

TEST(MeteredCollective, PiecesOfCodesAreEncodingAndDecoding) {
  run_metered([](MeteredCollective& net) {
    CollectiveCall told;
    net.set_observer([&](CollectiveCall call) { told = std::move(call); });
    const auto wait = [](std::size_t /*begin*/, std::size_t /*end*/) { pause(); };
    const auto began = std::chrono::steady_clock::now();
    net.begin_section();
    pause();
    net.all_reduce_quantised(torch::zeros(300, torch::kInt8), 1, {.produce = wait, .consume = wait});
    pause();
    const Section section = net.end_section();
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - began;
    EXPECT_GE(section.encode_s, 0.004);
    EXPECT_GE(section.between_collectives_s, 0.002);
    EXPECT_GE(section.decode_s, 0.004);
    EXPECT_GE(section.overlapped_decode_s, 0.002);
    EXPECT_GE(section.decode_s - section.overlapped_decode_s, 0.002);
    EXPECT_GE(section.exchange_s, 0);
    EXPECT_LE(section.encode_s + section.exchange_s + section.decode_s, whole.count());
    EXPECT_NEAR(section.exchange_s, net.traffic().time.elapsed_s, 1e-12);
    ASSERT_NE(chunked_all_reduce(told), nullptr);
    EXPECT_EQ(chunked_all_reduce(told)->elements, 300);
  });
}

TEST(MeteredCollective, NothingIsBetweenOneCollective) {
  run_metered([](MeteredCollective& net) {
    net.begin_section();
    pause();
    net.all_reduce(torch::zeros(300), Reduction::sum);
    pause();
    EXPECT_NEAR(net.end_section().between_collectives_s, 0, 1e-9);
  });
}

TEST(MeteredCollective, SectionWithoutCollectivesIsAllEncoding) {
  run_metered([](MeteredCollective& net) {
    net.all_reduce(torch::zeros(7), Reduction::sum);
    net.begin_section();
    pause();
    const Section section = net.end_section();
    EXPECT_GE(section.encode_s, 0.002);
    EXPECT_EQ(section.exchange_s, 0);
    EXPECT_EQ(section.decode_s, 0);
    EXPECT_EQ(section.payload_bytes, 0);
  });
}

TEST(MeteredCollective, FailedCallsAreNotCounted) {
  run_metered([](MeteredCollective& net) {
    EXPECT_THROW(net.all_reduce(torch::zeros(3, torch::kFloat64), Reduction::sum), Error);
    EXPECT_EQ(net.traffic().collectives, 0);
    EXPECT_EQ(net.traffic().payload_bytes, 0);
  });
}

}  // namespace
}  // namespace thinpipe::trainer
