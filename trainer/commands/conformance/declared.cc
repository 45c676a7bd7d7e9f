// SPDX-License-Identifier: Apache-2.0
// Properties examined only if a method declares them. Numerical ones do not depend on the backend, so one
// backend is enough.
#include <cmath>

#include <fmt/format.h>

#include "trainer/commands/conformance/conformance.hh"

namespace thinpipe::trainer::testing {
namespace {

double largest(const torch::Tensor& tensor) {
  return tensor.numel() == 0 ? 0 : tensor.abs().max().item<double>();
}

bool is_power_of_two(int number) {
  return (number & (number - 1)) == 0;
}

bool is_a_mean(const Examination& of) {
  const Estimate estimate = of.properties().estimate;
  return of.in_process() && (estimate == Estimate::exact || estimate == Estimate::rounded);
}

// Integers up to 8 in odd steps, whose sums every format holds without rounding; in even steps numbers that every
// narrower format rounds.
torch::Tensor alternating_gradient(const World& world, int rank, int step) {
  return step % 2 == 0 ? real_gradient(world, rank, step) : integer_gradient(world, rank, step);
}

// The mean of integers is exact if N is a power of two. Otherwise each entry goes through a conversion, N - 1 additions
// and a division, whose rounding is relative to at most the sum of magnitudes: (N + 1) / N <= 2 times that of one.
void gives_the_mean(Examination& of, LoggedCollective& network) {
  const double rounding = std::max(of.properties().relative_rounding, 0x1p-24);
  const int workers = network.world_size();
  const World world = make_world(1025, true);
  Session session = of.begin(world, network);
  for (int step = 1; step <= 4; ++step) {
    torch::Tensor mean = torch::zeros({world.bucket.size}, torch::kDouble);
    torch::Tensor magnitudes = torch::zeros({world.bucket.size}, torch::kDouble);
    for (int rank = 0; rank < workers; ++rank) {
      const torch::Tensor gradient = alternating_gradient(world, rank, step).to(torch::kDouble);
      mean += gradient / workers;
      magnitudes += gradient.abs();
    }
    const torch::Tensor out =
        session.step(alternating_gradient(world, network.rank(), step), step).to(torch::kDouble);
    const double unit = step % 2 == 1 && is_power_of_two(workers) ? 0 : rounding;
    const double excess = ((out - mean).abs() - 2 * unit * magnitudes).max().item<double>();
    of.expect(
        Promise::mean, excess <= 0,
        fmt::format("1025 entries, step {}: beyond relative rounding by {}, an entry is off the mean by {}",
                    step, unit, excess));
  }
}

bool claims_only_sums(const Examination& of) {
  return of.in_process() && of.properties().all_reduce_compatible;
}

// Reports calls that an all-reduce cannot replace.
class OnlyReduces : public Borrowed {
 public:
  OnlyReduces(Collective& inner, Examination& of) : Borrowed(inner), of_(of) {}

  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) override {
    of_.expect(Promise::only_sums, false, "the method calls an all-gather");
    return Borrowed::all_gather_v(input, counts);
  }
  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override {
    of_.expect(Promise::only_sums, false, "the method calls an all-to-all");
    return Borrowed::all_to_all_v(input, send_counts, receive_counts);
  }
  std::unique_ptr<PointToPoint> open_point_to_point(std::int64_t message_bytes) override {
    of_.expect(Promise::only_sums, false, "the method sends point-to-point messages");
    return Borrowed::open_point_to_point(message_bytes);
  }

 private:
  Examination& of_;
};

void only_sums_travel(Examination& of, LoggedCollective& network) {
  const World world = make_world(301, true);
  OnlyReduces reduces(network, of);
  Session session = of.begin(world, network, reduces);
  for (int step = 1; step <= 2; ++step) session.step(real_gradient(world, network.rank(), step), step);
}

bool is_unbiased(const Examination& of) {
  return of.in_process() && of.workers().count <= 3 && of.properties().estimate == Estimate::unbiased;
}

// The mean of 10,000 draws is within five standard errors of the mean over workers. Each step makes 1,000 draws at
// once: its gradient is a short one, repeated.
void draws_around_the_mean(Examination& of, LoggedCollective& network) {
  constexpr int steps = 10;
  constexpr std::int64_t period = 16;
  constexpr std::int64_t repetitions = 1000;
  constexpr double draws = steps * repetitions;
  const World short_world = make_world(period, true);
  const World world = make_world(period * repetitions, true);
  Session session = of.begin(world, network);
  const torch::Tensor own = real_gradient(short_world, network.rank(), 1);
  torch::Tensor mean = own.clone();
  network.all_reduce(mean, Reduction::sum);
  mean.div_(network.world_size());
  const auto repeat = [&](const torch::Tensor& values) {
    torch::Tensor repeated = values.repeat({repetitions});
    repeated.narrow(0, 0, world.kept[0].numel()).masked_fill_(world.kept[0].logical_not(), 0);
    return repeated;
  };
  const torch::Tensor repeated = repeat(own);
  const torch::Tensor expected = repeat(mean);
  torch::Tensor error = torch::zeros({period}, torch::kDouble);
  torch::Tensor squares = torch::zeros({period}, torch::kDouble);
  for (int step = 1; step <= steps; ++step) {
    const torch::Tensor off = (session.step(repeated, step) - expected).to(torch::kDouble).view({-1, period});
    error += off.sum(0);
    squares += off.square().sum(0);
  }
  const torch::Tensor allowed = 5 * squares.sqrt() / draws + 1e-6;
  const torch::Tensor excess = (error / draws).abs() - allowed;
  of.expect(Promise::unbiased, excess.le(0).all().item<bool>(),
            fmt::format("the mean of {} draws is {} beyond five standard errors of the mean", draws,
                        excess.max().item<double>()));
}

bool has_error_feedback(const Examination& of) {
  return of.in_process() && of.properties().estimate == Estimate::error_feedback;
}

torch::Tensor residual_of(const Synchroniser& method, const Bucket& layout) {
  Bucket bucket = layout;
  bucket.gradient = torch::zeros({layout.size});
  method.add_residual(bucket);
  return bucket.gradient;
}

// Returns the layout with the second parameter first.
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

// The sum over workers of gradients and residuals before a step equals N times the result plus the residuals after
// it. In a new layout of buckets, each parameter keeps its own residual.
void nothing_is_lost(Examination& of, LoggedCollective& network) {
  const World world = make_world(100, true);
  Session session = of.begin(world, network);
  const auto take_step = [&](const Bucket& layout, const torch::Tensor& gradient, int step) {
    torch::Tensor in = gradient + residual_of(session.method(), layout);
    const torch::Tensor out = session.step_of(layout, gradient, step);
    torch::Tensor left = residual_of(session.method(), layout);
    network.all_reduce(in, Reduction::sum);
    network.all_reduce(left, Reduction::sum);
    const double lost = largest(in - left - network.world_size() * out);
    of.expect(
        Promise::nothing_lost, lost <= 1e-6 * network.world_size() * (largest(in) + 1),
        fmt::format(
            "100 entries, step {}: {} of an entry, summed over workers, is neither in the result nor in a "
            "residual",
            step, lost));
  };
  const auto gradient = [&](int step) { return alternating_gradient(world, network.rank(), step); };
  for (int step = 1; step <= 3; ++step) take_step(world.bucket, gradient(step), step);
  const torch::Tensor before = residual_of(session.method(), world.bucket);
  const Bucket layout = swapped(world.bucket);
  session.method().prepare({layout});
  of.expect(Promise::nothing_lost, residual_of(session.method(), layout).equal(swapped(before, world.bucket)),
            "after step 3, in a new layout a parameter has another's residual");
  for (int step = 4; step <= 6; ++step) take_step(layout, swapped(gradient(step), world.bucket), step);
}

}  // namespace

std::vector<Property> declared_properties() {
  return {
      {"GivesTheMean", {Promise::mean}, is_a_mean, gives_the_mean},
      {"OnlySumsTravel", {Promise::only_sums}, claims_only_sums, only_sums_travel},
      {"DrawsAroundTheMean", {Promise::unbiased}, is_unbiased, draws_around_the_mean},
      {"NothingIsLost", {Promise::nothing_lost}, has_error_feedback, nothing_is_lost},
  };
}

}  // namespace thinpipe::trainer::testing
