#include "trainer/synchronisers/tests/conformance.hh"

#include <cmath>
#include <mutex>

#include <fmt/format.h>

#include "trainer/collectives/metered.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/synchronisers/tests/session.hh"

namespace thinpipe::trainer::testing {
namespace {

// What the workers' threads find wrong.
class Findings {
 public:
  void expect(bool condition, const std::string& what) {
    if (condition) return;
    const std::lock_guard lock(mutex_);
    found_.push_back(what);
  }

  std::vector<std::string> take() { return std::move(found_); }

 private:
  std::mutex mutex_;
  std::vector<std::string> found_;
};

bool is_zero(const torch::Tensor& tensor) {
  return tensor.eq(0).all().item<bool>();
}

bool is_finite(const torch::Tensor& tensor) {
  return tensor.isfinite().all().item<bool>();
}

double largest(const torch::Tensor& tensor) {
  return tensor.numel() == 0 ? 0 : tensor.abs().max().item<double>();
}

bool is_power_of_two(int number) {
  return (number & (number - 1)) == 0;
}

bool always(const Promises& /*promises*/, const Workers& /*workers*/) {
  return true;
}

// Numerical promises do not depend on the backend: one is enough.
bool in_process(const Workers& workers) {
  return workers.backend == "in_process";
}

constexpr std::int64_t large_size = (1 << 20) + 7;

// Around what vectors, blocks and the number of workers divide.
std::vector<std::int64_t> sizes(const Workers& workers) {
  const std::int64_t n = workers.count;
  if (!in_process(workers)) return {n + 1, 1025};
  std::vector<std::int64_t> out = {1, 2, 3, n - 1, n, n + 1, 255, 256, 257, 1023, 1025};
  if (workers.count == 2) out.push_back(large_size);
  std::erase(out, 0);
  return out;
}

// P-ID, P-BYTES and P-SHAPE.
std::vector<std::string> same_bits_and_claimed_bytes(const MakeSynchroniser& make, const Workers& workers) {
  Findings findings;
  for (const std::int64_t n : sizes(workers)) {
    const World world = make_world(n, true);
    run_world(workers.backend, workers.count, [&](Collective& network) {
      MeteredCollective metered(std::make_unique<Borrowed>(network));
      Session session(make, world, metered);
      for (int step = 1; step <= (n > large_size / 2 ? 1 : 3); ++step) {
        const std::string where = fmt::format("n {}, step {}: ", n, step);
        const ExpectedTraffic expected = session.method().traffic(world.bucket, network.world_size());
        metered.begin_section();
        const torch::Tensor out = session.step(real_gradient(world, network.rank(), step), step);
        const Section section = metered.end_section();
        findings.expect(identical_on_all(network, out), where + "the result differs between workers");
        findings.expect(is_finite(out), where + "the result is not finite");
        findings.expect(static_cast<double>(section.payload_bytes) == expected.payload_bytes,
                        fmt::format("{}handed {} bytes to collectives, claimed {}", where,
                                    section.payload_bytes, expected.payload_bytes));
        findings.expect(
            std::abs(section.sent_bytes - expected.sent_bytes) <= 1e-6 * expected.sent_bytes,
            fmt::format("{}sent {} bytes, claimed {}", where, section.sent_bytes, expected.sent_bytes));
      }
    });
  }
  return findings.take();
}

// P-ZERO.
std::vector<std::string> zero_stays_zero(const MakeSynchroniser& make, const Workers& workers) {
  Findings findings;
  const World world = make_world(257, true);
  run_world(workers.backend, workers.count, [&](Collective& network) {
    Session session(make, world, network);
    for (int step = 1; step <= 2; ++step) {
      findings.expect(is_zero(session.step(torch::zeros({257}), step)), "zero did not stay zero");
    }
  });
  return findings.take();
}

// P-NaN.
std::vector<std::string> a_nan_is_seen_by_all_and_forgotten(const MakeSynchroniser& make,
                                                            const Workers& workers) {
  Findings findings;
  const World world = make_world(300, true);
  for (const float poison : {std::nanf(""), -INFINITY}) {
    run_world(workers.backend, workers.count, [&](Collective& network) {
      Session poisoned(make, world, network);
      Session clean(make, world, network);
      const auto gradient = [&](int step) { return integer_gradient(world, network.rank(), step); };
      poisoned.step(gradient(1), 1);
      clean.step(gradient(1), 1);
      torch::Tensor bad = gradient(2);
      if (network.rank() == 0) bad[0] = poison;
      findings.expect(!is_finite(poisoned.step(bad, 2, false).sum()),
                      fmt::format("worker {} did not see another's {}", network.rank(), poison));
      // fp16 answers a skipped step by halving its scale, which rounding at these magnitudes does not show.
      findings.expect(poisoned.step(gradient(3), 3).equal(clean.step(gradient(3), 3)),
                      fmt::format("a skipped step with {} left something behind", poison));
    });
  }
  return findings.take();
}

// P-REPRO, also after a checkpoint.
std::vector<std::string> the_same_again(const MakeSynchroniser& make, const Workers& workers) {
  Findings findings;
  const World world = make_world(301, true);
  run_world(workers.backend, workers.count, [&](Collective& network) {
    const auto gradient = [&](int step) { return real_gradient(world, network.rank(), step); };
    Session first(make, world, network);
    Session second(make, world, network);
    for (int step = 1; step <= 3; ++step) {
      findings.expect(first.step(gradient(step), step).equal(second.step(gradient(step), step)),
                      fmt::format("step {} gives other bits the second time", step));
    }
    TensorMap state;
    first.method().save(state, "synchroniser.");
    Session resumed(make, world, network);
    resumed.method().load(state, "synchroniser.");
    for (int step = 4; step <= 5; ++step) {
      findings.expect(first.step(gradient(step), step).equal(resumed.step(gradient(step), step)),
                      fmt::format("step {} gives other bits after a checkpoint", step));
    }
  });
  return findings.take();
}

// What pruning took stays zero: weights must not move off it.
std::vector<std::string> pruned_entries_stay_zero(const MakeSynchroniser& make, const Workers& workers) {
  Findings findings;
  const World world = make_world(300, true);
  run_world(workers.backend, workers.count, [&](Collective& network) {
    Session session(make, world, network);
    for (int step = 1; step <= 3; ++step) {
      const torch::Tensor out = session.step(real_gradient(world, network.rank(), step), step);
      const torch::Tensor first = out.narrow(0, 0, world.kept[0].numel());
      findings.expect(is_zero(first.masked_select(world.kept[0].logical_not())),
                      fmt::format("step {} moves pruned entries", step));
    }
  });
  return findings.take();
}

bool is_a_mean(const Promises& promises, const Workers& workers) {
  return in_process(workers) &&
         (promises.estimate == Estimate::exact || promises.estimate == Estimate::rounded);
}

// Integers up to 8, whose sums every format holds: exact where the division by N is.
std::vector<std::string> gives_the_mean(const MakeSynchroniser& make, const Workers& workers) {
  Findings findings;
  const double rounding = std::max(promises_of(make).relative_rounding, 0x1p-24);
  const World world = make_world(1025, true);
  run_world(workers.backend, workers.count, [&](Collective& network) {
    Session session(make, world, network);
    for (int step = 1; step <= 2; ++step) {
      const torch::Tensor out =
          session.step(integer_gradient(world, network.rank(), step), step).to(torch::kDouble);
      const double error = largest(out - exact_mean(world, workers.count, step));
      const double tolerance = is_power_of_two(workers.count) ? 0 : 8 * workers.count * rounding;
      findings.expect(error <= tolerance,
                      fmt::format("step {} is off the mean by {}, more than {}", step, error, tolerance));
    }
  });
  return findings.take();
}

bool is_unbiased(const Promises& promises, const Workers& workers) {
  return in_process(workers) && workers.count <= 3 && promises.estimate == Estimate::unbiased;
}

// P-UNB: the mean of 10,000 draws lies within five standard errors of the mean over workers. Each step draws
// for every repetition of a short gradient at once.
std::vector<std::string> draws_around_the_mean(const MakeSynchroniser& make, const Workers& workers) {
  constexpr int steps = 10;
  constexpr std::int64_t period = 16;
  constexpr std::int64_t repetitions = 1000;
  constexpr double draws = steps * repetitions;
  Findings findings;
  const World short_world = make_world(period, true);
  const World world = make_world(period * repetitions, true);
  run_world(workers.backend, workers.count, [&](Collective& network) {
    Session session(make, world, network);
    const torch::Tensor own = real_gradient(short_world, network.rank(), 1);
    torch::Tensor mean = own.clone();
    network.all_reduce(mean, Reduction::sum);
    mean.div_(workers.count);
    torch::Tensor repeated = own.repeat({repetitions});
    const std::int64_t pruned = world.kept[0].numel();
    repeated.narrow(0, 0, pruned).masked_fill_(world.kept[0].logical_not(), 0);
    torch::Tensor expected = mean.repeat({repetitions});
    expected.narrow(0, 0, pruned).masked_fill_(world.kept[0].logical_not(), 0);
    torch::Tensor error = torch::zeros({period}, torch::kDouble);
    torch::Tensor squares = torch::zeros({period}, torch::kDouble);
    for (int step = 1; step <= steps; ++step) {
      const torch::Tensor off =
          (session.step(repeated, step) - expected).to(torch::kDouble).view({-1, period});
      error += off.sum(0);
      squares += off.square().sum(0);
    }
    const torch::Tensor allowed = 5 * squares.sqrt() / draws + 1e-6;
    const torch::Tensor excess = (error / draws).abs() - allowed;
    findings.expect(excess.le(0).all().item<bool>(),
                    fmt::format("the mean of {} draws is {} beyond five standard errors of the mean", draws,
                                excess.max().item<double>()));
  });
  return findings.take();
}

bool is_delayed(const Promises& promises, const Workers& workers) {
  return in_process(workers) && promises.estimate == Estimate::delayed;
}

torch::Tensor held_back(const Synchroniser& method, const Bucket& layout) {
  Bucket bucket = layout;
  bucket.gradient = torch::zeros({layout.size});
  method.add_held_back(bucket);
  return bucket.gradient;
}

// The second parameter first.
Bucket swapped(const Bucket& layout) {
  const Slice& a = layout.slices[0];
  const Slice& b = layout.slices[1];
  Bucket out = layout;
  out.slices = {{.parameter = b.parameter, .offset = 0, .size = b.size},
                {.parameter = a.parameter, .offset = b.size, .size = a.size}};
  return out;
}

torch::Tensor swapped(const torch::Tensor& values, const Bucket& layout) {
  const std::int64_t first = layout.slices[0].size;
  return torch::cat({values.narrow(0, first, values.numel() - first), values.narrow(0, 0, first)});
}

// P-CONS, and with one worker P-LOC: N·out and all that is held back afterwards are all that came in and was
// held back before. In a new layout each parameter still has its own.
std::vector<std::string> nothing_is_lost(const MakeSynchroniser& make, const Workers& workers) {
  Findings findings;
  const World world = make_world(100, true);
  run_world(workers.backend, workers.count, [&](Collective& network) {
    Session session(make, world, network);
    const auto take_step = [&](const Bucket& layout, const torch::Tensor& gradient, int step) {
      torch::Tensor in = gradient + held_back(session.method(), layout);
      const torch::Tensor out = session.step_of(layout, gradient, step);
      torch::Tensor left = held_back(session.method(), layout);
      network.all_reduce(in, Reduction::sum);
      network.all_reduce(left, Reduction::sum);
      const double lost = largest(in - left - workers.count * out);
      findings.expect(lost <= 1e-6 * workers.count * (largest(in) + 1),
                      fmt::format("step {}: {} of an entry is lost or made up", step, lost));
    };
    const auto gradient = [&](int step) { return integer_gradient(world, network.rank(), step); };
    for (int step = 1; step <= 3; ++step) take_step(world.bucket, gradient(step), step);
    const torch::Tensor before = held_back(session.method(), world.bucket);
    const Bucket layout = swapped(world.bucket);
    session.method().prepare({layout});
    findings.expect(held_back(session.method(), layout).equal(swapped(before, world.bucket)),
                    "in a new layout a parameter has another's residual");
    for (int step = 4; step <= 6; ++step) take_step(layout, swapped(gradient(step), world.bucket), step);
  });
  return findings.take();
}

}  // namespace

const std::vector<Property>& properties() {
  static const std::vector<Property> all = {
      {"SameBitsAndClaimedBytes", always, same_bits_and_claimed_bytes},
      {"ZeroStaysZero", always, zero_stays_zero},
      {"ANanIsSeenByAllAndForgotten", always, a_nan_is_seen_by_all_and_forgotten},
      {"TheSameAgain", always, the_same_again},
      {"PrunedEntriesStayZero", always, pruned_entries_stay_zero},
      {"GivesTheMean", is_a_mean, gives_the_mean},
      {"DrawsAroundTheMean", is_unbiased, draws_around_the_mean},
      {"NothingIsLost", is_delayed, nothing_is_lost},
  };
  return all;
}

Promises promises_of(const MakeSynchroniser& make) {
  const World world = make_world(2, false);
  return make({.parameters = world.parameters, .kept = world.kept, .seed = 0})->promises();
}

}  // namespace thinpipe::trainer::testing
