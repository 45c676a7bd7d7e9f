#include "harness/records/curve.hh"

#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace thinpipe {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

// A member of a curve's entry. `of_null`: the value of null, if it may be null.
struct Measure {
  const char* name;
  const char* rule;
  double at_least = -unbounded;
  double at_most = unbounded;
  std::optional<double> of_null = not_measured;
};

namespace members {
constexpr Measure iteration{"iteration", "an integer from 0 to 2^53", 0, 0x1p53, std::nullopt};
constexpr Measure epoch{"epoch", "a number of at least 0", 0, unbounded, std::nullopt};
constexpr Measure train_time_s{"train_time_s", "a number of at least 0 or null", 0};
constexpr Measure train_loss{"train_loss", "a number or null"};
constexpr Measure test_loss{"test_loss", "a number or null"};
constexpr Measure test_accuracy{"test_accuracy", "a number from 0 to 1 or null", 0, 1};
}  // namespace members

// An entry of the curve, and its index.
struct Entry {
  const Json& value;
  std::size_t index;

  double read(const Measure& measure) const {
    const auto found = value.find(measure.name);
    if (found == value.end()) refuse(measure, "is missing; it ");
    if (found->is_null() && measure.of_null) return *measure.of_null;
    const double number = found->is_number() ? found->get<double>() : not_measured;
    if (!(number >= measure.at_least && number <= measure.at_most)) refuse(measure, "");
    return number;
  }

  std::int64_t read_iteration() const {
    const double number = read(members::iteration);
    if (number != std::floor(number)) refuse(members::iteration, "");
    return static_cast<std::int64_t>(number);
  }

  [[noreturn]] void refuse(const Measure& measure, const char* what) const {
    throw InputError(Place{"", "/curve"} / index / measure.name,
                     fmt::format("{}must be {}", what, measure.rule));
  }
};

}  // namespace

std::vector<CurvePoint> read_curve(const Json& curve) {
  if (!curve.is_array()) throw InputError({"", "/curve"}, "must be an array");
  std::vector<CurvePoint> points;
  points.reserve(curve.size());
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (!curve[i].is_object()) throw InputError(Place{"", "/curve"} / i, "must be an object");
    const Entry entry{curve[i], i};
    points.push_back({.iteration = entry.read_iteration(),
                      .epoch = entry.read(members::epoch),
                      .train_time_s = entry.read(members::train_time_s),
                      .train_loss = entry.read(members::train_loss),
                      .test_loss = entry.read(members::test_loss),
                      .test_accuracy = entry.read(members::test_accuracy)});
  }
  return points;
}

}  // namespace thinpipe
