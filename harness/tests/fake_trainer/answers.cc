// SPDX-License-Identifier: Apache-2.0
// The commands that answer a question, each with JSON on standard output.
#include <iostream>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "harness/tests/fake_trainer/commands.hh"
#include "harness/tests/fake_trainer/config.hh"

namespace thinpipe::fake {

std::string dataset_hash(const Dataset& dataset) {
  return dataset.path ? "hash of " + read_file(*dataset.path) : "hash of nothing";
}

namespace {

Json content(const Config& config) {
  Json out = Json::object();
  if (config.dataset.path) out["/dataset/path"] = dataset_hash(config.dataset);
  return out;
}

// Returns the share of dense's bytes that the method sends.
double sent_share(const Synchroniser& synchroniser) {
  return synchroniser.name == "fp16" ? 0.5 : synchroniser.ratio;
}

}  // namespace

// Each line is a configuration; each answer, too, is one line.
int check() {
  for (std::string line; std::getline(std::cin, line);) {
    Json answer;
    try {
      const auto config = read_options<Config>(Json::parse(line), {"", ""});
      answer = {{"ok", true},
                {"config", write_options(config)},
                {"content", content(config)},
                {"plan",
                 {{"parameters", 100},
                  {"gradient_bytes", 400},
                  {"bucket_bytes", {100, 300}},
                  {"iterations", config.iterations},
                  {"evaluations", config.iterations + 1},
                  {"sent_bytes_per_iteration", 1000.0 * sent_share(config.synchroniser)},
                  {"pairwise_bytes_per_iteration", 0.0},
                  {"codes_per_iteration", 0.0},
                  {"largest_code", 1},
                  {"payload_bytes_per_iteration", 400.0 * sent_share(config.synchroniser)}}}};
    } catch (const InputError& error) {
      answer = {{"ok", false}, {"pointer", error.place().pointer}, {"message", error.message()}};
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}

// Stands in for Python: an option "wrong" is wrong.
int check_hook() {
  const Json hook = Json::parse(std::cin);
  if (hook.contains("wrong")) {
    std::cout << Json{{"ok", false}, {"pointer", "/wrong"}, {"message", "is wrong, says Python"}};
  } else {
    std::cout << Json{{"ok", true}};
  }
  return 0;
}

int describe() {
  const Json options = describe_options<Synchroniser>();
  const Json without_options = {{"summary", "is there"}, {"options", Json::array()}};
  std::cout << Json{{"synchronisers",
                     {{"dense", without_options},
                      {"fp16", without_options},
                      {"topk", {{"summary", "keeps the largest"}, {"options", options}}}}},
                    {"models", {{"m", without_options}}},
                    {"datasets",
                     {{"d", {{"summary", "is there"}, {"options", Json::array()}}},
                      {"absent",
                       {{"summary", "is not there"},
                        {"options", {{{"key", "directory"}, {"effect", "where it would lie"}}}}}}}},
                    {"collectives", {{"gloo", {{"summary", "invented"}, {"options", Json::array()}}}}},
                    {"configuration", describe_options<Config>()},
                    {"cuda_devices", 0},
                    {"libraries", {{"libtorch", "none"}}}};
  return 0;
}

int cost() {
  const auto config = read_options<Config>(Json::parse(std::cin), {"", ""});
  std::cout << Json{{"compute_s", config.iteration_time_s}, {"memory_bytes", 1000000}};
  return 0;
}

}  // namespace thinpipe::fake
