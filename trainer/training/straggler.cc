#include "trainer/training/straggler.hh"

#include <chrono>
#include <thread>

namespace thinpipe::trainer {

std::vector<Slowdown> read_slowdowns(const Json& value, const Place& place) {
  if (!value.is_array()) throw InputError(place, "must be a list, but is " + value.dump());
  std::vector<Slowdown> slowdowns;
  for (std::size_t i = 0; i < value.size(); ++i) {
    JsonObject object(value[i], place / i);
    Slowdown& slowdown = slowdowns.emplace_back();
    object.read("at_iteration", slowdown.at_iteration, {.at_least = 0, .required = true});
    object.read("factor", slowdown.factor, {.at_least = 1, .required = true});
    object.finish();
  }
  return slowdowns;
}

void Straggler::begin_step(std::int64_t iterations) {
  factor_ = 1;
  for (const Slowdown& slowdown : slowdowns_) {
    if (slowdown.at_iteration <= iterations) factor_ = slowdown.factor;
  }
  stretch_ = Stopwatch();
}

void Straggler::catch_up() {
  if (factor_ == 1) return;
  std::this_thread::sleep_for(std::chrono::duration<double>((factor_ - 1) * stretch_.elapsed_s()));
  stretch_ = Stopwatch();
}

}  // namespace thinpipe::trainer
