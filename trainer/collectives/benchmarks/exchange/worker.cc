// SPDX-License-Identifier: Apache-2.0
// A worker of exchange_benchmark: repeats one backend's all_reduce, a sum of ternary codes along the reduction tree, or
// messages to other workers, and prints its times as JSON. The vector is in main memory, for NCCL on the rank's
// GPU.
#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <gloo/config.h>

#include "harness/machine/cpu_usage.hh"
#include "trainer/base/device.hh"
#include "trainer/base/philox.hh"
#include "trainer/base/stopwatch.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/backends/nccl/nccl_group.hh"
#include "trainer/collectives/collective.hh"
#include "trainer/synchronisers/circle_messages.hh"
#include "trainer/synchronisers/quantised/ternary.hh"

namespace thinpipe::trainer {
namespace {

constexpr const char* nccl = "nccl";
constexpr const char* ternary = "ternary";
constexpr const char* ternary_in_chunks = "ternary-pieces";
// Each worker sends the vector to one other. In pairs, its own message comes from the same worker.
constexpr const char* pairs = "pairs";
constexpr const char* circle = "circle";
// Each worker sends a part of the vector to every worker.
constexpr const char* everyone = "everyone";

bool is_ternary(const std::string& way) {
  return way == ternary || way == ternary_in_chunks;
}

bool is_of_messages(const std::string& way) {
  return way == pairs || way == circle || way == everyone;
}

std::string backend_of(const std::string& way) {
  if (is_ternary(way)) return "island";
  return is_of_messages(way) ? "gloo" : way;
}

std::string library_of(const std::string& way) {
  if (way == nccl) return "Thinpipe, NCCL " + nccl_version().value_or("");
  if (backend_of(way) != "gloo") return "Thinpipe";
  return fmt::format("Thinpipe, Gloo {}.{}.{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);
}

// Draws codes with a scale of 1, sums them and expands the sums.
void sum_ternary(const std::string& way, const torch::Tensor& tensor, Collective& net) {
  const std::span<float> values = floats(tensor);
  const torch::Tensor codes = torch::empty(tensor.numel(), torch::kInt8);
  const auto code = elements<std::int8_t>(codes);
  const RandomStream stream{.rank = static_cast<std::uint32_t>(net.rank())};
  std::vector<float> uniform;
  const auto draw = [&](std::size_t begin, std::size_t end) {
    uniform.resize(end - begin);
    fill_uniform(stream, uniform, static_cast<std::uint32_t>(begin / 4));
    draw_ternary(values.subspan(begin, end - begin), 1, uniform, code.subspan(begin, end - begin));
  };
  const auto expand = [&](std::size_t begin, std::size_t end) {
    expand_ternary(code.subspan(begin, end - begin), 1, values.subspan(begin, end - begin));
  };
  if (way == ternary_in_chunks) {
    net.all_reduce_quantised(codes, 1, {.produce = draw, .consume = expand});
  } else {
    draw(0, values.size());
    net.all_reduce_quantised(codes, 1, {});
    expand(0, values.size());
  }
}

// Returns the rank that is `distance` after this worker's, or before it if negative.
int rank_after(const Collective& net, int distance) {
  return (net.rank() + net.world_size() + distance) % net.world_size();
}

int distance_of(const std::string& way, int world_size) {
  return way == pairs ? world_size / 2 : 1;
}

// Returns how many of the vector's elements each worker receives from each.
std::vector<std::int64_t> parts_of(std::int64_t elements, int workers) {
  std::vector<std::int64_t> parts;
  for (int i = 0; i < workers; ++i) parts.push_back(elements * (i + 1) / workers - elements * i / workers);
  return parts;
}

// Returns what this worker receives.
torch::Tensor send(const std::string& way, const torch::Tensor& tensor, Collective& net) {
  if (way != everyone) {
    const int distance = distance_of(way, net.world_size());
    return pass_on(tensor, rank_after(net, distance), rank_after(net, -distance), net);
  }
  const std::vector<std::int64_t> parts = parts_of(tensor.numel(), net.world_size());
  return net.all_to_all_v(tensor, parts, std::vector(parts.size(), parts[net.rank()]));
}

// Returns what this worker receives if each sends its rank.
torch::Tensor ranks_sent(const std::string& way, std::int64_t elements, const Collective& net) {
  if (way != everyone)
    return torch::full({elements}, rank_after(net, -distance_of(way, net.world_size())), torch::kFloat32);
  const std::int64_t part = parts_of(elements, net.world_size())[net.rank()];
  return torch::arange(net.world_size(), torch::kFloat32).repeat_interleave(part);
}

void exchange(const std::string& way, torch::Tensor tensor, Collective& net) {
  if (is_ternary(way)) {
    sum_ternary(way, tensor, net);
  } else if (is_of_messages(way)) {
    send(way, tensor, net);
  } else {
    net.all_reduce(tensor, Reduction::sum);
  }
}

void check(const std::string& way, const torch::Device& device, std::int64_t elements, Collective& net) {
  if (is_of_messages(way)) {
    const torch::Tensor received = send(way, torch::full({elements}, net.rank(), torch::kFloat32), net);
    if (!received.equal(ranks_sent(way, elements, net))) throw Error(way + " gives a wrong message");
    return;
  }
  const torch::Tensor tensor = torch::ones(elements, device);
  exchange(way, tensor, net);
  if (!tensor.eq(net.world_size()).all().item<bool>()) throw Error(way + " gives a wrong sum");
}

void work(const std::string& way, const GroupOptions& group_options, std::int64_t elements, int repetitions) {
  at::set_num_threads(1);
  const auto net =
      CollectiveRegistry::instance().make({{"name", backend_of(way)}}, Place{"--way", ""}, group_options);
  const torch::Device device = device_for(way == nccl ? "cuda" : "cpu", net->rank());
  check(way, device, elements, *net);
  const torch::Tensor tensor = torch::empty(elements, device);
  Json began_s = Json::array();
  Json ended_s = Json::array();
  const double busy_before_s = read_machine_time().busy_s;
  for (int i = 0; i < repetitions; ++i) {
    tensor.fill_(1);
    net->barrier();
    began_s.push_back(Stopwatch::monotonic_s());
    exchange(way, tensor, *net);
    ended_s.push_back(Stopwatch::monotonic_s());
  }
  net->barrier();
  fmt::print("{}\n", Json{{"began_s", began_s},
                          {"ended_s", ended_s},
                          {"busy_s", read_machine_time().busy_s - busy_before_s},
                          {"library", library_of(way)}}
                         .dump());
}

int run(int argc, char** argv) {
  CLI::App program("A worker of exchange_benchmark");
  std::string way;
  GroupOptions group_options;
  std::int64_t elements = 0;
  int repetitions = 0;
  program.add_option("--way", way)->required();
  program.add_option("--parents", group_options.reduction_tree)->delimiter(',');
  program.add_option("--rank", group_options.rank)->required();
  program.add_option("--world-size", group_options.world_size)->required();
  program.add_option("--address", group_options.address)->required();
  program.add_option("--rendezvous", group_options.rendezvous_directory)->required();
  program.add_option("--elements", elements)->required();
  program.add_option("--repetitions", repetitions)->required();
  CLI11_PARSE(program, argc, argv);
  work(way, group_options, elements, repetitions);
  return 0;
}

}  // namespace
}  // namespace thinpipe::trainer

int main(int argc, char** argv) {
  try {
    return thinpipe::trainer::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exchange_worker: {}\n", error.what());
    return 1;
  }
}
