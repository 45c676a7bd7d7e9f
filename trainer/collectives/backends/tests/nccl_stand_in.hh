// SPDX-License-Identifier: Apache-2.0
// Stands in for NCCL and a GPU: a group with memory of its own, whose operations run in finish(), among
// threads of one process.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/backends/nccl.hh"
#include "trainer/collectives/reduce_function.hh"

namespace thinpipe::trainer::testing {

class NcclStandIn : public NcclGroup {
 public:
  // `member`: of a group of the same ranks, used only by this object.
  explicit NcclStandIn(std::unique_ptr<Collective> member) : member_(std::move(member)) {}

  // The memory's previous content may not be relied on.
  std::byte* reserve(std::size_t bytes) override {
    memory_.assign(bytes, std::byte{0xA5});
    return memory_.data();
  }

  void follow_caller() override { followed_ = true; }

  void upload(std::span<const std::byte> host, std::byte* device) override {
    queue([=] { std::ranges::copy(host, device); });
  }

  void download(const std::byte* device, std::span<std::byte> host) override {
    queue([=] { std::copy_n(device, host.size(), host.begin()); });
  }

  void all_reduce(std::byte* data, std::int64_t elements, torch::ScalarType type,
                  Reduction reduction) override {
    queue([=, this] {
      ++all_reduces_;
      member_->all_reduce(torch::from_blob(data, {elements}, type), reduction);
    });
  }

  void add(std::byte* into, std::span<const std::byte* const> parts, std::int64_t elements,
           torch::ScalarType type) override {
    queue([=, parts = std::vector<const void*>(parts.begin(), parts.end())] {
      reduce_function(type, Reduction::sum)(into, parts, static_cast<std::size_t>(elements));
    });
  }

  void broadcast(std::span<const Block> blocks) override {
    queue([this, blocks = std::vector(blocks.begin(), blocks.end())] {
      for (const Block& block : blocks) member_->broadcast(bytes_at(block), block.rank);
    });
  }

  void exchange(std::span<const Block> sent, std::span<const Block> received) override {
    queue([this, sent = by_rank(sent), received = by_rank(received)] {
      std::vector<torch::Tensor> parts = {torch::empty({0}, torch::kUInt8)};
      for (const Block& block : sent) parts.push_back(bytes_at(block));
      const torch::Tensor arrived =
          member_->all_to_all_v(torch::cat(parts), bytes_by_rank(sent), bytes_by_rank(received));
      std::int64_t read = 0;
      for (const Block& block : received) {
        const auto size = static_cast<std::int64_t>(block.bytes);
        bytes_at(block).copy_(arrived.narrow(0, read, size));
        read += size;
      }
    });
  }

  void finish(double /*timeout_s*/) override {
    for (const auto& operation : std::exchange(queue_, {})) operation();
    if (fails_) throw Error("exchange by NCCL: remote process exited or there was a network error");
    followed_ = false;
  }

  void abort() noexcept override {
    queue_.clear();
    member_.reset();
  }

  int all_reduces() const { return all_reduces_; }

  // Makes every later finish() fail.
  void fail() { fails_ = true; }

 private:
  void queue(std::function<void()> operation) {
    if (!followed_) throw Error("queue on a GPU before following the caller");
    queue_.push_back(std::move(operation));
  }

  static torch::Tensor bytes_at(const Block& block) {
    return torch::from_blob(block.data, {static_cast<std::int64_t>(block.bytes)}, torch::kUInt8);
  }

  // In the order that an all-to-all needs.
  static std::vector<Block> by_rank(std::span<const Block> blocks) {
    std::vector<Block> sorted(blocks.begin(), blocks.end());
    std::ranges::stable_sort(sorted, {}, &Block::rank);
    return sorted;
  }

  std::vector<std::int64_t> bytes_by_rank(const std::vector<Block>& blocks) const {
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(member_->world_size()));
    for (const Block& block : blocks) bytes.at(static_cast<std::size_t>(block.rank)) += block.bytes;
    return bytes;
  }

  std::unique_ptr<Collective> member_;
  std::vector<std::byte> memory_;
  std::vector<std::function<void()>> queue_;
  bool followed_ = false;
  int all_reduces_ = 0;
  bool fails_ = false;
};

// Runs the "nccl" backend over it with one thread per worker. parents: the reduction tree; empty for none.
inline void run_nccl_stand_in(int world_size, const std::vector<int>& parents,
                              const std::function<void(Collective& net, NcclStandIn& gpu)>& worker) {
  InProcessGroup gpus(world_size);
  run_in_process(world_size, [&](std::unique_ptr<Collective> gloo) {
    auto gpu = std::make_unique<NcclStandIn>(gpus.join(gloo->rank()));
    NcclStandIn& seen = *gpu;
    const auto net = make_nccl(std::move(gloo), std::move(gpu), 60, parents);
    worker(*net, seen);
  });
}

}  // namespace thinpipe::trainer::testing
