// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/conformance/conformance.hh"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "trainer/base/library_error.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/collectives/ring_formula.hh"
#include "trainer/commands/conformance/compared.hh"
#include "trainer/commands/conformance/connected.hh"
#include "trainer/exchange/bucket_layout.hh"

namespace thinpipe::trainer::testing {
namespace {

bool is_zero(const torch::Tensor& tensor) {
  return tensor.eq(0).all().item<bool>();
}

bool is_finite(const torch::Tensor& tensor) {
  return tensor.isfinite().all().item<bool>();
}

bool always(const Examination& /*of*/) {
  return true;
}

constexpr std::int64_t large_size = (1 << 20) + 7;

// Sizes around those that vectors, blocks and the number of workers divide.
std::vector<std::int64_t> sizes(const Examination& of) {
  const std::int64_t n = of.workers().count;
  if (!of.in_process()) return {n + 1, 1025, 3001};
  std::vector<std::int64_t> out = {1, 2, 3, n - 1, n, n + 1, 255, 256, 257, 1023, 1025};
  if (n == 2) out.push_back(large_size);
  std::erase(out, 0);
  return out;
}

void check_bytes(Examination& of, const std::string& where, bool at_most, double bytes, double claimed) {
  const double excess = bytes - claimed;
  of.expect(Promise::claimed_bytes, (at_most ? excess : std::abs(excess)) <= 1e-6 * claimed,
            fmt::format("{}, but claimed {}{}", where, at_most ? "at most " : "", claimed));
}

// Expects the same bits on every worker.
void check_same_bits(Examination& of, LoggedCollective& network, const std::string& where,
                     const torch::Tensor& result) {
  const std::string difference = difference_between_workers(network, result);
  of.expect(Promise::same_bits, difference.empty(),
            fmt::format("{}the result differs between workers: {}", where, difference));
}

// Returns the sent bytes that the method claims, converted to this network: the claim is for a ring, and
// along a tree sums of codes need fewer bits. Returns nullopt if the mean over workers predicts little about
// one worker: a tree merges entries on the way, and `ring` swaps small vectors of 4, 8, ... workers whole.
std::optional<double> claimed_to_be_sent(const Examination& of, const Collective& network,
                                         const ExpectedTraffic& expected) {
  const int workers = network.world_size();
  if (of.workers().backend == "ring" && workers > 2 && (workers & (workers - 1)) == 0) return {};
  if (!network.has_sparse_all_reduce()) return expected.sent_bytes;
  if (of.properties().traffic_depends_on_data) return {};
  const auto codes = static_cast<std::int64_t>(expected.codes);
  if (codes == 0) return expected.sent_bytes;
  return expected.sent_bytes - ring_all_reduce_sent_bytes(expected.codes, workers) +
         network.all_reduce_quantised_sent_bytes(codes, expected.largest_code);
}

void check_traffic(Examination& of, const std::string& where, const Collective& network,
                   const Section& section, const ExpectedTraffic& expected) {
  if (of.traffic_claim() == TrafficClaim::none) return;
  // Along a tree entries may be merged on the way, so fewer are passed on.
  const bool at_most = of.properties().traffic_depends_on_data || network.has_sparse_all_reduce();
  check_bytes(of, fmt::format("{}passed {} bytes to collectives", where, section.payload_bytes), at_most,
              static_cast<double>(section.payload_bytes), expected.payload_bytes);
  if (of.traffic_claim() != TrafficClaim::payload_and_sent) return;
  // Over a network, received messages may be padded; along a tree, merged entries return to their sender.
  if (of.in_process()) {
    check_bytes(of, fmt::format("{}got {} bytes from collectives", where, section.delivered_bytes),
                of.properties().traffic_depends_on_data, static_cast<double>(section.delivered_bytes),
                expected.delivered_bytes);
  }
  if (const auto claimed = claimed_to_be_sent(of, network, expected)) {
    check_bytes(of, fmt::format("{}sent {} bytes", where, section.sent_bytes),
                of.properties().traffic_depends_on_data, section.sent_bytes, *claimed);
  }
}

// The result has the same bits on every worker and is finite, for buckets of any size, and traffic() states the
// bytes that travel.
void same_bits_and_claimed_bytes(Examination& of, LoggedCollective& network) {
  for (const std::int64_t n : sizes(of)) {
    const World world = decaying(make_world(n, true));
    MeteredCollective metered(std::make_unique<Borrowed>(static_cast<Collective&>(network)));
    Session session = of.begin(world, network, metered);
    for (int step = 1; step <= (n == large_size ? 1 : 3); ++step) {
      const std::string where =
          fmt::format("{}, step {}: ", n == 1 ? "1 entry" : fmt::format("{} entries", n), step);
      const ExpectedTraffic expected = session.method().traffic(world.bucket, network.world_size());
      metered.begin_section();
      const torch::Tensor out = session.step(real_gradient(world, network.rank(), step), step);
      const Section section = metered.end_section();
      check_same_bits(of, network, where, out);
      of.expect(Promise::any_bucket, is_finite(out), where + "the result is not finite");
      check_traffic(of, where, network, section, expected);
    }
  }
}

// A gradient that is zero on every worker has a result of zero.
void zero_stays_zero(Examination& of, LoggedCollective& network) {
  const World world = make_world(257, true);
  Session session = of.begin(world, network);
  for (int step = 1; step <= 2; ++step) {
    const torch::Tensor out = session.step(torch::zeros({257}), step);
    of.expect(Promise::zero, is_zero(out),
              fmt::format(
                  "257 entries, step {}: the gradient is zero on every worker, but {} entries of the result "
                  "are not",
                  step, out.count_nonzero().item<std::int64_t>()));
  }
}

// A NaN or infinity of one worker makes every worker's result not finite, and skipping that step leaves no trace
// in later ones.
void a_nan_is_seen_by_all_and_forgotten(Examination& of, LoggedCollective& network) {
  const World world = decaying(make_world(300, true));
  const auto gradient = [&](int step) { return integer_gradient(world, network.rank(), step); };
  struct Poison {
    float value;
    int rank;
    std::int64_t place;
  };
  const int last = network.world_size() - 1;
  for (const auto& [poison, hit, place] :
       {Poison{std::nanf(""), 0, 0}, Poison{-INFINITY, 0, 0}, Poison{std::nanf(""), last, 299}}) {
    Session poisoned = of.begin(world, network);
    Session clean = of.begin(world, network);
    poisoned.step(gradient(1), 1);
    clean.step(gradient(1), 1);
    torch::Tensor bad = gradient(2);
    if (network.rank() == hit) bad[place] = poison;
    of.expect(
        Promise::nan_seen, !is_finite(poisoned.step(bad, 2, false).sum()),
        fmt::format(
            "300 entries, step 2: worker {} has a finite result although entry {} of worker {}'s gradient "
            "is {}",
            network.rank(), place, hit, poison));
    // fp16 answers a skipped step by halving its scale, which rounding at these magnitudes does not show.
    const torch::Tensor after = poisoned.step(gradient(3), 3);
    of.expect(
        Promise::skipped_step, after.equal(clean.step(gradient(3), 3)),
        fmt::format(
            "300 entries: step 2 was skipped because entry {} of worker {}'s gradient was {}, but step 3 "
            "{}",
            place, hit, poison,
            is_finite(after) ? "gives another result than without step 2" : "gives NaN or infinity"));
  }
}

// Objects with the same seed and gradients compute the same bits, and so does one that continues from a checkpoint.
void the_same_again(Examination& of, LoggedCollective& network) {
  const World world = decaying(make_world(301, true));
  const auto gradient = [&](int step) { return real_gradient(world, network.rank(), step); };
  Session first = of.begin(world, network);
  Session second = of.begin(world, network);
  for (int step = 1; step <= 3; ++step) {
    of.expect(
        Promise::reproducible, first.step(gradient(step), step).equal(second.step(gradient(step), step)),
        fmt::format("301 entries, step {}: a second object with the same seed gives other bits on worker {}",
                    step, network.rank()));
  }
  TensorMap state;
  first.method().save(state, "synchroniser.");
  Session resumed = of.begin(world, network);
  resumed.method().load(state, "synchroniser.");
  resumed.copy_weights_of(first);
  for (int step = 4; step <= 5; ++step) {
    of.expect(Promise::checkpoint, first.step(gradient(step), step).equal(resumed.step(gradient(step), step)),
              fmt::format("301 entries, step {}: other bits after a checkpoint of step 3 on worker {}", step,
                          network.rank()));
  }
}

// Pruned entries stay zero, because pruned weights must not move off zero.
void pruned_entries_stay_zero(Examination& of, LoggedCollective& network) {
  const World world = decaying(make_world(300, true));
  Session session = of.begin(world, network);
  for (int step = 1; step <= 3; ++step) {
    const torch::Tensor out = session.step(real_gradient(world, network.rank(), step), step);
    const torch::Tensor first = out.narrow(0, 0, world.kept[0].numel());
    of.expect(Promise::pruned, is_zero(first.masked_select(world.kept[0].logical_not())),
              fmt::format("300 entries, step {}: the result is not zero at pruned entries", step));
  }
}

// A new mask between two steps: the state of newly pruned entries must not move them.
void newly_pruned_entries_go_to_zero(Examination& of, LoggedCollective& network) {
  const World before = decaying(make_world(300, false));
  const World after = make_world(300, true);
  const torch::Tensor pruned = after.kept[0].logical_not();
  const auto moves_pruned = [&](const torch::Tensor& values) {
    return !is_zero(values.narrow(0, 0, pruned.numel()).masked_select(pruned));
  };
  MeteredCollective metered(std::make_unique<Borrowed>(static_cast<Collective&>(network)));
  Session session = of.begin(before, network, metered);
  for (int step = 1; step <= 3; ++step) session.step(real_gradient(before, network.rank(), step), step);
  session.weights()[0].masked_fill_(pruned, 0);
  session.method().adopt_masks(after.kept);
  session.method().prepare({after.bucket});
  for (int step = 4; step <= 6; ++step) {
    const std::string where = fmt::format("300 entries, step {} after a new mask: ", step);
    Bucket residual = after.bucket;
    residual.gradient = torch::zeros({300});
    session.method().add_residual(residual);
    of.expect(Promise::pruned, !moves_pruned(residual.gradient), where + "the residual has pruned entries");
    const ExpectedTraffic expected = session.method().traffic(after.bucket, network.world_size());
    metered.begin_section();
    const torch::Tensor out = session.step(real_gradient(after, network.rank(), step), step);
    const Section section = metered.end_section();
    of.expect(Promise::pruned, !moves_pruned(out), where + "the result is not zero at pruned entries");
    check_same_bits(of, network, where, out);
    check_traffic(of, where, network, section, expected);
  }
}

// Bucket layouts as in training, with parameters that are empty, have one entry, or are left dense by the
// method.
void any_parameters_will_do(Examination& of, LoggedCollective& network) {
  World world;
  for (const auto& [name, rows, columns] : {std::tuple("matrix", 7, 5), std::tuple("empty", 0, 3),
                                            std::tuple("one", 1, 1), std::tuple("wide", 2, 40)}) {
    world.parameters.push_back({.name = name,
                                .size = rows * columns,
                                .dimensions = 2,
                                .rows = std::max(rows, 1),
                                .shape = {rows, columns}});
  }
  world.parameters.push_back({.name = "bias", .size = 5, .dimensions = 1, .shape = {5}});
  for (const ParameterInfo& parameter : world.parameters) {
    world.weights.push_back(torch::linspace(-1, 1, parameter.size));
    world.kept.emplace_back();
  }
  const int workers = network.world_size();
  for (const std::int64_t bucket_bytes : {1, 64, 1 << 20}) {
    Session session = of.begin(world, network);
    Synchroniser& method = session.method();
    const std::vector<Bucket> layout =
        lay_out_buckets(world.parameters, {4, 3, 2, 1, 0}, method,
                        BucketOptions{.first_size_bytes = bucket_bytes, .size_bytes = bucket_bytes});
    method.prepare(layout);
    for (int step = 1; step <= 3; ++step) {
      const std::string where = fmt::format("buckets of {} bytes, step {}: ", bucket_bytes, step);
      method.set_learning_rate(0.1);
      method.begin_step(static_cast<std::uint64_t>(step));
      for (Bucket bucket : layout) {
        bucket.gradient = torch::arange(bucket.size).add(network.rank() + step).to(torch::kFloat).sin();
        if (bucket.side) {
          bucket.gradient.div_(workers);
          network.all_reduce(bucket.gradient, Reduction::sum);
          const torch::Tensor mean = bucket.gradient.clone();
          method.finish_dense(bucket, network.world_size());
          // With momentum or local steps, the result is the optimiser's step instead of the mean.
          if (!method.properties().applies_momentum && !method.local_steps())
            of.expect(Promise::side_bucket, bucket.gradient.equal(mean),
                      where + "a parameter left dense is changed");
        } else {
          method.synchronise(bucket, network);
          network.meet_after_step();
        }
        of.expect(Promise::any_bucket, bucket.gradient.numel() == bucket.size,
                  where + "the result has another size");
        of.expect(Promise::any_bucket, is_finite(bucket.gradient), where + "the result is not finite");
        check_same_bits(of, network, where, bucket.gradient);
      }
      method.finish_step(true);
    }
  }
}

}  // namespace

std::unique_ptr<Synchroniser> Examination::make_sample() const {
  const World world = make_world(2, false);
  return make_({.parameters = world.parameters, .kept = world.kept, .weights = world.weights});
}

MethodProperties Examination::properties() const {
  return make_sample()->properties();
}

TrafficClaim Examination::traffic_claim() const {
  const auto sample = make_sample();
  const auto* const estimated = dynamic_cast<const EstimatedTraffic*>(sample.get());
  return estimated == nullptr ? TrafficClaim::payload_and_sent : estimated->traffic_claim();
}

Session Examination::begin(const World& world, LoggedCollective& network, Collective& calls) const {
  Session session(make_, world, calls);
  session.set_after_synchronise([&network] { network.meet_after_step(); });
  return session;
}

void Examination::expect(Promise promise, bool condition, const std::string& what) {
  if (condition) return;
  const std::lock_guard lock(mutex_);
  findings_.push_back({.promise = promise, .property = property_, .what = what});
}

std::vector<Property> common_properties() {
  using enum Promise;
  return {
      {"SameBitsAndClaimedBytes",
       {same_bits, any_bucket, claimed_bytes},
       always,
       same_bits_and_claimed_bytes},
      {"ZeroStaysZero", {zero}, always, zero_stays_zero},
      {"ANanIsSeenByAllAndForgotten", {nan_seen, skipped_step}, always, a_nan_is_seen_by_all_and_forgotten},
      {"TheSameAgain", {reproducible, checkpoint}, always, the_same_again},
      {"PrunedEntriesStayZero", {pruned}, always, pruned_entries_stay_zero},
      {"NewlyPrunedEntriesGoToZero",
       {pruned, same_bits, claimed_bytes},
       always,
       newly_pruned_entries_go_to_zero},
      {"AnyParametersWillDo", {any_bucket, same_bits, side_bucket}, always, any_parameters_will_do},
  };
}

namespace {

// Returns the error of a worker that failed, with what the others were doing if they waited for each other.
std::string explain_failure(const std::exception& error, const CallLog& log) {
  const std::string message = message_of(error);
  const bool is_mismatch = message.find(" called ") != std::string::npos;
  return is_mismatch ? fmt::format("the workers' calls differ: {}", log.describe()) : message;
}

void add_new(std::vector<Finding>& out, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    const auto is_same = [&](const Finding& other) {
      return other.what == finding.what && other.property == finding.property;
    };
    if (std::ranges::none_of(out, is_same)) out.push_back(finding);
  }
}

}  // namespace

std::vector<Finding> examine(const std::vector<Property>& properties, const MakeSynchroniser& make,
                             const Workers& workers, CallLog& log) {
  std::vector<std::unique_ptr<Examination>> examinations;
  for (const Property& property : properties) {
    examinations.push_back(std::make_unique<Examination>(property.name, make, workers));
  }
  std::vector<Finding> out;
  std::atomic<std::size_t> latest = 0;
  std::optional<Finding> failure;
  try {
    run_connected(workers, [&](Collective& network) {
      LoggedCollective logged(network, log);
      for (std::size_t i = 0; i < properties.size(); ++i) {
        latest = i;
        log.set(network.rank(), "is in the method's code");
        if (properties[i].applies(*examinations[i])) properties[i].examine(*examinations[i], logged);
      }
      log.set(network.rank(), "has finished");
      network.barrier();  // no worker leaves while others still examine
    });
  } catch (const std::exception& error) {
    failure = {.promise = Promise::runs,
               .property = properties.at(latest).name,
               .what = explain_failure(error, log)};
  }
  for (const auto& examination : examinations) add_new(out, examination->findings());
  if (failure) out.push_back(*failure);
  return out;
}

std::vector<std::string> violations(const std::vector<Property>& properties, const MakeSynchroniser& make,
                                    const Workers& workers) {
  CallLog log(workers.count);
  std::vector<std::string> out;
  for (const Finding& finding : examine(properties, make, workers, log)) {
    out.push_back(fmt::format("{}: {}", finding.property, finding.what));
  }
  return out;
}

}  // namespace thinpipe::trainer::testing
