// SPDX-License-Identifier: Apache-2.0
// The configuration of the stand-in for thinpipe-trainer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/support/json_object.hh"
#include "common/support/options.hh"

namespace thinpipe::fake {

struct Fault {
  std::string kind = "none";
  std::int64_t rank = 0;
  std::int64_t iteration = 1;  // in which it happens
  bool once = false;           // not again after a restart

  void visit(auto& field) {
    field("kind", kind,
          Rule{.one_of = {"none", "crash", "exit", "hang", "stop", "nan", "garbage", "binary", "flood",
                          "deep", "silent_exit", "late_exit", "slow_exit", "slow_stop", "crash_at_end",
                          "complain", "full_disk"}});
    field("rank", rank, Rule{.at_least = 0});
    field("iteration", iteration, Rule{.at_least = 1});
    field("once", once, Rule{});
  }
};

struct Synchroniser {
  std::string name = "dense";
  double ratio = 1;

  void visit(auto& field) {
    field("name", name, Rule{.one_of = {"dense", "fp16", "topk"}});
    field("ratio", ratio, Rule{.effect = "kept fraction", .above = 0, .at_most = 1});
  }
};

struct Model {
  std::string name = "m";

  void visit(auto& field) { field("name", name, Rule{}); }
};

struct Collective {
  std::string name = "gloo";

  void visit(auto& field) { field("name", name, Rule{.one_of = {"auto", "gloo", "island", "ring"}}); }
};

struct Buckets {
  std::optional<std::int64_t> size_bytes = 25 << 20;

  void visit(auto& field) { field("size", size_bytes, Rule{.quantity = Quantity::size, .none = "auto"}); }
};

struct Pretraining {
  std::int64_t iterations = 0;

  void visit(auto& field) { field("iterations", iterations, Rule{.at_least = 0}); }
};

struct Dataset {
  std::string name = "d";
  std::optional<std::string> path;  // a file, whose content is part of the run's identity
  std::optional<std::int64_t> channels = {}, height = {}, width = {};  // of synthetic images

  void visit(auto& field) {
    field("name", name, Rule{.one_of = {"d", "synthetic"}});
    field("path", path, Rule{});
    field("channels", channels, Rule{});
    field("height", height, Rule{});
    field("width", width, Rule{});
  }
};

struct Config {
  std::int64_t seed = 1;
  std::int64_t workers = 1;
  std::int64_t iterations = 4;
  double iteration_time_s = 0.01;
  double evaluation_time_s = 0;  // per evaluation after an iteration
  std::vector<double> targets = {0.5};
  std::int64_t hold = 1;
  Model model;
  Dataset dataset;
  Synchroniser synchroniser;
  Collective collective;
  Buckets buckets;
  Pretraining pretraining;
  Fault fault;

  void visit(auto& field) {
    field("seed", seed, Rule{});
    field("workers", workers, Rule{});
    field("iterations", iterations, Rule{.at_least = 1});
    field("iteration_time", iteration_time_s, Rule{.quantity = Quantity::duration});
    field("evaluation_time", evaluation_time_s, Rule{.quantity = Quantity::duration});
    field("targets", targets, Rule{});
    field("hold", hold, Rule{});
    field("model", model, Rule{});
    field("dataset", dataset, Rule{});
    field("synchroniser", synchroniser, Rule{});
    field("collective", collective, Rule{});
    field("buckets", buckets, Rule{});
    field("pretraining", pretraining, Rule{});
    field("fault", fault, Rule{});
  }
};

// Returns a made-up hash, which depends on the content of the dataset's file if it has one.
std::string dataset_hash(const Dataset& dataset);

}  // namespace thinpipe::fake
