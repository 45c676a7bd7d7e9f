// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/assumptions.hh"

#include <algorithm>

#include <fmt/format.h>

#include "harness/advice/parameter_count.hh"
#include "harness/plan/bucket_sizes.hh"

namespace thinpipe {
namespace {

std::string about_codecs(const CodecCosts& costs) {
  if (!costs.known()) {
    return "Encode and decode times are left out: methods look faster than they are, above all at high caps.";
  }
  return fmt::format(
      "Encode+decode: measured on one otherwise idle core ({}), scaled to this gradient; another CPU, a GPU or shared "
      "cores take another time.",
      costs.origin());
}

// Returns what is left out, with the latency of the collectives, which overlaps with compute only in part.
std::string about_latency(const Candidate& candidate, bool stands_in) {
  const Json& plan = candidate.run.training->plan;
  auto buckets = static_cast<double>(plan.at("bucket_bytes").size());
  if (stands_in && buckets > 1)
    buckets = std::max(buckets, count_buckets(plan.at("gradient_bytes").get<double>()));
  return fmt::format(
      "Left out: latency (on this topology up to {:.1f} ms per iteration of {}, by the number of its buckets), waiting for "
      "the slowest worker, CPU time of the network, and cores shared by workers.",
      1000 * min_bucket_s(candidate.run) * buckets, candidate.method);
}

}  // namespace

std::vector<std::string> assumptions(const std::vector<Candidate>& candidates, const CodecCosts& costs,
                                     bool stands_in) {
  std::vector<std::string> out = {
      "Iteration: the lower bound on the exchange that `thinpipe plan` predicts, overlapped bucket by bucket with "
      "the backward pass, with encode and decode in between.",
      about_codecs(costs)};
  if (costs.known() && std::ranges::any_of(candidates, [](const Candidate& each) { return !each.codec; })) {
    out.emplace_back(
        "Unknown encode+decode: not measured with these options. The iteration is then a lower bound (>), speed-ups are "
        "upper bounds (<), and caps too high (?).");
  }
  if (stands_in) {
    out.push_back(fmt::format(
        "Parameters: square matrices of {0} x {0}, all exchanged, in a bucket of 1 MiB and further ones of 25 MiB. "
        "Methods that send indices send them for this many entries; only powersgd depends on the shape.",
        stand_in_matrix_side));
  }
  out.push_back(about_latency(candidates.front(), stands_in));
  out.emplace_back(
      "Accuracy is not predicted: a method may need more iterations, so a speed-up per iteration is not one in time "
      "to accuracy.");
  return out;
}

}  // namespace thinpipe
