// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/parameter_count.hh"

#include <algorithm>
#include <cmath>
#include <vector>

namespace thinpipe {
namespace {

constexpr int matrices = 4;
constexpr double mebibyte = 1 << 20;
constexpr double first_bucket_bytes = 1 * mebibyte;
constexpr double bucket_bytes = 25 * mebibyte;
// More would change no prediction of the overlap: only their shares of the gradient count.
constexpr double max_buckets = 1000;

Json fill_buckets(double gradient_bytes) {
  Json out = Json::array();
  const double further = std::max(bucket_bytes, gradient_bytes / max_buckets);
  for (double left = gradient_bytes, size = first_bucket_bytes; left > 0; size = further) {
    out.push_back(std::min(left, size));
    left -= size;
  }
  return out;
}

}  // namespace

Json stand_in_configuration() {
  return {{"model", {{"name", "mlp"}, {"hidden", std::vector<int>(matrices, stand_in_matrix_side)}}},
          {"dataset",
           {{"name", "synthetic"},
            {"channels", 1},
            {"height", 32},
            {"width", stand_in_matrix_side / 32},
            {"train_examples", 4096},
            {"test_examples", 10}}},
          {"training", {{"batch_size_per_worker", 1}}}};
}

double count_buckets(double gradient_bytes) {
  return 1 + std::ceil(std::max(0.0, gradient_bytes - first_bucket_bytes) / bucket_bytes);
}

Json scale_plan(Json plan, double parameters) {
  const double factor = parameters / plan.at("parameters").get<double>();
  for (const char* key :
       {"payload_bytes_per_iteration", "sent_bytes_per_iteration", "pairwise_bytes_per_iteration",
        "gathered_bytes_per_iteration", "broadcast_bytes_per_iteration", "delivered_bytes_per_iteration",
        "codes_per_iteration"}) {
    if (plan.contains(key)) plan[key] = factor * plan[key].get<double>();
  }
  if (plan.contains("shifted_bytes_per_iteration")) {
    for (Json& bytes : plan["shifted_bytes_per_iteration"]) bytes = factor * bytes.get<double>();
  }
  if (plan.contains("group_shifts_per_iteration")) {
    for (Json& shift : plan["group_shifts_per_iteration"]) {
      shift["bytes"] = factor * shift["bytes"].get<double>();
    }
  }
  plan["parameters"] = parameters;
  plan["gradient_bytes"] = 4 * parameters;
  const bool in_one_piece = plan.at("bucket_bytes").size() == 1;
  plan["bucket_bytes"] = in_one_piece ? Json{4 * parameters} : fill_buckets(4 * parameters);
  return plan;
}

}  // namespace thinpipe
