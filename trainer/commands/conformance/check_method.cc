// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/conformance/check_method.hh"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "trainer/base/library_error.hh"
#include "trainer/commands/conformance/conformance.hh"

namespace thinpipe::trainer {
namespace {

using testing::Examination;
using testing::Finding;
using testing::Property;
using testing::Workers;

constexpr std::size_t shown_findings = 3;  // of each promise

struct Question {
  Json synchroniser;
  std::vector<std::int64_t> workers = {1, 2, 3, 8};
  std::vector<std::string> backends = {"in_process", "gloo"};
  double hang_timeout_s = 20;
  std::vector<Workers> groups;
};

// By default, networks are tried with 2 workers only: other numbers have been examined among threads.
std::vector<Workers> groups_of(const Question& question, bool is_default) {
  std::vector<Workers> out;
  for (const std::string& backend : question.backends) {
    for (const std::int64_t count : question.workers) {
      if (is_default && backend != "in_process" && count != 2) continue;
      out.push_back({.backend = backend, .count = static_cast<int>(count)});
    }
  }
  return out;
}

Question read_question(const Json& json, const Place& place) {
  Question question;
  JsonObject object(json, place);
  question.synchroniser = object.get("synchroniser");
  const bool is_default = object.find("workers") == nullptr;
  object.read("workers", question.workers);
  object.read("backends", question.backends);
  object.read("hang_timeout_s", question.hang_timeout_s, {.above = 0});
  object.finish();
  for (const std::int64_t count : question.workers) {
    if (count < 1 || count > 64) {
      throw InputError(object.place_of("workers"), fmt::format("must be from 1 to 64, but one is {}", count));
    }
  }
  const std::vector<std::string> known = {"in_process", "gloo", "ring", "island"};
  for (const std::string& backend : question.backends) {
    if (std::ranges::find(known, backend) == known.end())
      refuse_unknown_name(backend, known, object.place_of("backends"));
  }
  question.groups = groups_of(question, is_default);
  if (question.groups.empty()) throw InputError(place, "must name a number of workers and a backend");
  return question;
}

// The findings of one group of workers.
struct Examined {
  Workers workers;
  std::vector<Finding> findings;
};

// A group that the method does not accept.
struct Skipped {
  Workers workers;
  std::string reason;  // the method's rule
};

std::string describe(const Workers& workers) {
  return fmt::format("{} with {} worker{}",
                     workers.backend == "in_process" ? "among threads" : "over " + workers.backend,
                     workers.count, workers.count == 1 ? "" : "s");
}

// Ends the process through on_hang if the workers' calls stand still.
class Watchdog {
 public:
  Watchdog(const CallLog& log, double timeout_s, std::function<void()> on_hang)
      : thread_([this, &log, timeout_s, on_hang = std::move(on_hang)](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          std::int64_t seen = -1;
          while (seen != log.changes()) {
            seen = log.changes();
            if (ended_.wait_for(lock, stop, std::chrono::duration<double>(timeout_s), [] { return false; }) ||
                stop.stop_requested()) {
              return;
            }
          }
          on_hang();
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;  // last: stops and joins before the members that it uses are gone
};

class MethodCheck {
 public:
  MethodCheck(Question question, Place place, const CheckObserver& observer)
      : question_(std::move(question)), place_(std::move(place)), observer_(observer) {}

  Json run() {
    for (const Workers& workers : accepted_groups()) {
      observer_.on_stage(describe(workers));
      examine_group(workers);
      if (has_failed()) break;
    }
    return answer();
  }

 private:
  std::unique_ptr<Synchroniser> make(const SynchroniserContext& context) const {
    return SynchroniserRegistry::instance().make(question_.synchroniser, place_ / "synchroniser", context);
  }

  std::unique_ptr<Synchroniser> sample() const {
    const testing::World world = testing::make_world(2, false);
    return make({.parameters = world.parameters, .kept = world.kept, .weights = world.weights});
  }

  // Returns the method's rule that this number of workers breaks.
  std::optional<std::string> broken_rule(int workers) const {
    try {
      const auto method = sample();
      if (const auto most = method->max_workers(); most && workers > *most)
        return fmt::format("must be at most {}, because sums of the method's integers hold no more", *most);
      if (const std::int64_t multiple_of = method->workers_multiple_of(); workers % multiple_of != 0) {
        return fmt::format(
            "must be a multiple of {}, because the method forms as many teams of equally many workers",
            multiple_of);
      }
      return {};
    } catch (const InputError&) {
      throw;
    } catch (const std::exception&) {
      return {};  // start() raises, and the examination reports where
    }
  }

  // Notes the others. Throws InputError if the method accepts none.
  std::vector<Workers> accepted_groups() {
    std::vector<Workers> accepted;
    for (const Workers& workers : question_.groups) {
      if (const auto rule = broken_rule(workers.count)) {
        skipped_.push_back({workers, *rule});
      } else {
        accepted.push_back(workers);
      }
    }
    if (accepted.empty()) throw InputError(place_ / "workers", "one of them " + skipped_.front().reason);
    return accepted;
  }

  void examine_group(const Workers& workers) {
    CallLog log(workers.count);
    examined_.push_back({workers, {}});
    const Watchdog watchdog(log, question_.hang_timeout_s, [&] {
      add({{.promise = Promise::runs,
            .what = fmt::format("no worker has got any further for {} s: {}", question_.hang_timeout_s,
                                log.describe())}});
      observer_.on_hang(answer());
    });
    for (const auto& properties : {testing::common_properties(), testing::declared_properties()}) {
      if (has_failed()) return;
      try {
        note_examined(properties, workers);
        add(testing::examine(
            properties, [this](const SynchroniserContext& context) { return make(context); }, workers, log));
      } catch (const InputError&) {
        throw;
      } catch (const std::exception& error) {
        add({{.promise = Promise::runs, .what = message_of(error)}});
      }
    }
  }

  void note_examined(const std::vector<Property>& properties, const Workers& workers) {
    const Examination of(
        "", [this](const SynchroniserContext& context) { return make(context); }, workers);
    const std::lock_guard lock(mutex_);
    for (const Property& property : properties) {
      if (property.applies(of)) promises_.insert(property.promises.begin(), property.promises.end());
    }
    if (of.traffic_claim() == TrafficClaim::none) promises_.erase(Promise::claimed_bytes);
  }

  void add(std::vector<Finding> findings) {
    const std::lock_guard lock(mutex_);
    std::ranges::move(findings, std::back_inserter(examined_.back().findings));
  }

  bool has_failed() const {
    return std::ranges::any_of(examined_, [](const Examined& group) {
      return std::ranges::any_of(group.findings,
                                 [](const Finding& finding) { return finding.promise == Promise::runs; });
    });
  }

  // Why a promise has no verdict.
  std::string reason_for(Promise promise) const {
    if (has_failed()) return "the method did not run to the end";
    const auto method = sample();
    if (promise == Promise::claimed_bytes)
      return "the bytes depend on the data, and the method states no bound: it has no traffic()";
    if (promise == Promise::only_sums && !method->properties().all_reduce_compatible)
      return "not claimed: all_reduce_compatible is false";
    const Estimate estimate = method->properties().estimate;
    const bool is_claimed =
        (promise == Promise::mean && (estimate == Estimate::exact || estimate == Estimate::rounded)) ||
        (promise == Promise::unbiased && estimate == Estimate::unbiased) ||
        (promise == Promise::nothing_lost && estimate == Estimate::error_feedback);
    if (is_claimed || promise == Promise::only_sums)
      return "examined only with backend in_process and up to 3 workers";
    return fmt::format("not claimed: the estimate is \"{}\"",
                       estimate_names[static_cast<std::size_t>(estimate)]);
  }

  Json findings_of(Promise promise, std::size_t& count) const {
    Json out = Json::array();
    count = 0;
    for (const Examined& group : examined_) {
      for (const Finding& finding : group.findings) {
        if (finding.promise != promise || ++count > shown_findings) continue;
        out.push_back({{"backend", group.workers.backend},
                       {"workers", group.workers.count},
                       {"what", fmt::format("{}: {}", describe(group.workers), finding.what)}});
      }
    }
    return out;
  }

  Json judge(const PromiseText& text) const {
    std::size_t count = 0;
    Json findings = findings_of(text.promise, count);
    const bool is_examined =
        text.promise == Promise::runs || (!has_failed() && promises_.contains(text.promise));
    const char* const verdict = count > 0 ? "violated" : is_examined ? "ok" : "not examined";
    return {{"promise", text.key},     {"name", text.name},
            {"verdict", verdict},      {"reason", count > 0 || is_examined ? "" : reason_for(text.promise)},
            {"meaning", text.meaning}, {"consequence", text.consequence},
            {"remedy", text.remedy},   {"findings", std::move(findings)},
            {"finding_count", count}};
  }

  Json answer() const {
    const std::lock_guard lock(mutex_);
    Json groups = Json::array();
    bool conforms = true;
    for (const Examined& group : examined_) {
      groups.push_back({{"backend", group.workers.backend}, {"workers", group.workers.count}});
      conforms = conforms && group.findings.empty();
    }
    Json skipped = Json::array();
    for (const Skipped& group : skipped_) {
      skipped.push_back(
          {{"backend", group.workers.backend}, {"workers", group.workers.count}, {"reason", group.reason}});
    }
    Json promises = Json::array();
    for (const PromiseText& text : promise_texts()) promises.push_back(judge(text));
    return {{"conforms", conforms},
            {"synchroniser", question_.synchroniser},
            {"examined", std::move(groups)},
            {"skipped", std::move(skipped)},
            {"promises", std::move(promises)}};
  }

  // In the order of Estimate.
  static constexpr std::array estimate_names = {"exact", "rounded", "unbiased", "biased", "error_feedback"};

  Question question_;
  Place place_;
  const CheckObserver& observer_;
  std::vector<Skipped> skipped_;
  mutable std::mutex mutex_;  // of the members below, which the watchdog reads
  std::vector<Examined> examined_;
  std::set<Promise> promises_;
};

}  // namespace

Json check_method(const Json& question, const CheckObserver& observer) {
  const Place place{"check-method", ""};
  return MethodCheck(read_question(question, place), place, observer).run();
}

}  // namespace thinpipe::trainer
