// A worker of exchange_benchmark: one backend's all_reduce, several times. Prints its times as JSON.
#include <chrono>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "harness/processor_time.hh"
#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {
namespace {

void work(const std::string& way, const Membership& membership, std::int64_t elements, int repetitions) {
  torch::set_num_threads(1);
  const auto net = CollectiveRegistry::instance().make({{"name", way}}, Place{"--way", ""}, membership);
  const torch::Tensor tensor = torch::ones(elements);
  net->all_reduce(tensor, Reduction::sum);
  if (!tensor.eq(net->world_size()).all().item<bool>()) throw Error(way + " sums wrongly");
  Json seconds = Json::array();
  const double busy_before_s = read_machine_time().busy_s;
  for (int i = 0; i < repetitions; ++i) {
    tensor.fill_(1);
    net->barrier();
    const auto began = std::chrono::steady_clock::now();
    net->all_reduce(tensor, Reduction::sum);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  net->barrier();
  fmt::print("{}\n",
             Json{{"seconds", seconds}, {"busy_s", read_machine_time().busy_s - busy_before_s}}.dump());
}

int run(int argc, char** argv) {
  CLI::App program("A worker of exchange_benchmark");
  std::string way;
  Membership membership;
  std::int64_t elements = 0;
  int repetitions = 0;
  program.add_option("--way", way)->required();
  program.add_option("--parents", membership.parents)->delimiter(',');
  program.add_option("--rank", membership.rank)->required();
  program.add_option("--world-size", membership.world_size)->required();
  program.add_option("--address", membership.address)->required();
  program.add_option("--rendezvous", membership.rendezvous_directory)->required();
  program.add_option("--elements", elements)->required();
  program.add_option("--repetitions", repetitions)->required();
  CLI11_PARSE(program, argc, argv);
  work(way, membership, elements, repetitions);
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
