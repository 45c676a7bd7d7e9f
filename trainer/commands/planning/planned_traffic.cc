// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/planning/planned_traffic.hh"

#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "trainer/exchange/gradient_exchange.hh"
#include "trainer/training/model_fragments.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

// Returns the layout in the most likely order of gradients: the model's last parameter first.
std::vector<Bucket> expected_layout(const TrainingConfig& config,
                                    const std::vector<ParameterInfo>& parameters,
                                    const Synchroniser& synchroniser) {
  std::vector<std::size_t> order(parameters.size());
  std::iota(order.rbegin(), order.rend(), 0U);
  return lay_out_buckets(parameters, order, synchroniser, config.buckets);
}

// "auto" becomes a tree if a tree reduces the load of the network.
NetworkShape expected_network(const TrainingConfig& config) {
  const auto name = config.collective.at("name").get<std::string>();
  return {.workers = static_cast<int>(config.workers), .sums_along_tree = name == "island" || name == "auto"};
}

const Place kSynchroniserPlace = kConfigurationPlace / "synchroniser";

SynchroniserContext context_of(const TrainingConfig& config, const Model& model, const Mask& mask) {
  return {.parameters = parameter_infos(model),
          .kept = kept_masks(model, mask),
          .weights = model.parameters(),
          .network = expected_network(config)};
}

std::unique_ptr<Synchroniser> make_synchroniser(const TrainingConfig& config,
                                                const SynchroniserContext& context) {
  return SynchroniserRegistry::instance().make(config.synchroniser, kSynchroniserPlace, context);
}

// Returns the traffic of an exchange of all parameters, in as many fragments as the method makes of them.
ExpectedTraffic expected_traffic(const TrainingConfig& config, const Model& model, const Mask& mask) {
  const SynchroniserContext whole = context_of(config, model, mask);
  const auto side_synchroniser =
      SynchroniserRegistry::instance().make({{"name", "dense"}}, kConfigurationPlace, {});
  const std::int64_t fragments = make_synchroniser(config, whole)->fragments().count;
  ExpectedTraffic traffic;
  for (const auto& parameters : fragments_of(whole.parameters, fragments, kSynchroniserPlace / "fragments")) {
    const SynchroniserContext part = part_of(whole, parameters);
    const auto synchroniser = make_synchroniser(config, part);
    const std::vector<Bucket> layout = expected_layout(config, part.parameters, *synchroniser);
    synchroniser->prepare(layout);
    for (const Bucket& bucket : layout) {
      traffic += (bucket.side ? side_synchroniser : synchroniser)
                     ->steady_state_traffic(bucket, static_cast<int>(config.workers));
    }
    if (synchroniser->senses_network()) traffic += observation_traffic(static_cast<int>(config.workers));
  }
  return traffic;
}

// Returns the number of exchanges of all parameters in that many iterations, with an exchange of a fragment as a part
// of one. The last iteration ends with an exchange, unless one is in flight then: see LocalRounds.
double exchanges_in(std::int64_t iterations, const Synchroniser& synchroniser) {
  const FragmentSchedule fragments = synchroniser.fragments();
  const std::int64_t interval = synchroniser.local_steps().value_or(1) / fragments.count;
  const std::int64_t begun_before = (iterations - 1) / interval;
  const bool is_in_flight =
      begun_before > 0 && begun_before * interval + fragments.overlap_steps >= iterations;
  return static_cast<double>(begun_before + (is_in_flight ? 0 : 1)) / static_cast<double>(fragments.count);
}

// Returns the mean traffic over a run's steps. Traffic is linear in the number of kept weights, and that
// number in the schedule's ratio, so that one mask is enough for a whole ramp.
ExpectedTraffic mean_traffic(const TrainingConfig& config, PlannedModels& models, std::int64_t iterations) {
  const Model& model = models.model(config);
  const PruningSchedule schedule = make_pruning(config).schedule;
  const auto whole = [&] { return expected_traffic(config, model, Mask::keep_all(model)); };
  if (schedule.final_ratio() == 0) return whole();
  if (schedule.end() >= iterations) {
    throw InputError(
        Place{} / "pruning" / "at_iteration",
        fmt::format("pruning ends after {} steps, but the run has only {}; set a smaller at_iteration, or "
                    "train for more epochs",
                    schedule.end(), iterations));
  }
  const ExpectedTraffic pruned = expected_traffic(config, model, models.final_mask(config));
  const double share = schedule.mean_share(iterations);
  return share == 1 ? pruned : share * pruned + (1 - share) * whole();
}

// Returns the traffic to the worker one rank further, two ranks further and so on, among all workers.
Json by_distance(const ExpectedTraffic& traffic, std::int64_t workers) {
  if (traffic.shifted_bytes.empty()) return Json::array();
  std::vector<double> bytes(static_cast<std::size_t>(workers - 1), 0.0);
  for (const auto& [shift, shifted] : traffic.shifted_bytes) {
    if (shift.group == workers) bytes[static_cast<std::size_t>(shift.distance - 1)] = shifted;
  }
  return bytes;
}

// Returns the traffic within groups of some of the workers.
Json within_groups(const ExpectedTraffic& traffic, std::int64_t workers) {
  Json out = Json::array();
  for (const auto& [shift, bytes] : traffic.shifted_bytes) {
    if (shift.group == workers) continue;
    out.push_back({{"workers", shift.group}, {"distance", shift.distance}, {"bytes", bytes}});
  }
  return out;
}

}  // namespace

std::unique_ptr<Synchroniser> planned_synchroniser(const TrainingConfig& config, const Model& model) {
  return make_synchroniser(config, context_of(config, model, Mask::keep_all(model)));
}

Json bucket_bytes(const TrainingConfig& config, const Model& model, const Synchroniser& synchroniser) {
  Json out = Json::array();
  std::int64_t total = 0;
  for (const Bucket& bucket : expected_layout(config, parameter_infos(model), synchroniser)) {
    out.push_back(4 * bucket.size);
    total += 4 * bucket.size;
  }
  return synchroniser.local_steps() ? Json::array({total}) : out;
}

Json traffic_per_iteration(const TrainingConfig& config, PlannedModels& models,
                           const Synchroniser& synchroniser, std::int64_t iterations) {
  const double exchanges_per_iteration =
      exchanges_in(iterations, synchroniser) / static_cast<double>(iterations);
  const ExpectedTraffic traffic = exchanges_per_iteration * mean_traffic(config, models, iterations);
  return {{"payload_bytes_per_iteration", traffic.payload_bytes},
          {"sent_bytes_per_iteration", traffic.sent_bytes},
          {"pairwise_bytes_per_iteration", traffic.pairwise_bytes},
          {"gathered_bytes_per_iteration", traffic.gathered_bytes},
          {"broadcast_bytes_per_iteration", traffic.broadcast_bytes},
          {"delivered_bytes_per_iteration", traffic.delivered_bytes},
          {"shifted_bytes_per_iteration", by_distance(traffic, config.workers)},
          {"group_shifts_per_iteration", within_groups(traffic, config.workers)},
          {"codes_per_iteration", traffic.codes},
          {"largest_code", traffic.largest_code}};
}

}  // namespace thinpipe::trainer
