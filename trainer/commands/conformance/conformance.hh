// SPDX-License-Identifier: Apache-2.0
// The conformance suite: the promises that every method must keep, and those that it declares in addition
// (method_properties.hh). Each property examines a method in one situation and describes its violations.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "trainer/commands/conformance/call_log.hh"
#include "trainer/commands/conformance/promise.hh"
#include "trainer/commands/conformance/session.hh"
#include "trainer/synchronisers/estimated_traffic.hh"

namespace thinpipe::trainer::testing {

using MakeSynchroniser = std::function<std::unique_ptr<Synchroniser>(const SynchroniserContext&)>;

struct Workers {
  std::string backend;  // "in_process", "gloo", "ring" or "island"
  int count = 1;
  std::vector<int> reduction_tree = {};  // for "island", as in GroupOptions
};

struct Finding {
  Promise promise = Promise::runs;
  std::string property = {};  // the property's name
  std::string what = {};
};

// A method under examination by all workers' threads, and their findings.
class Examination {
 public:
  Examination(std::string property, MakeSynchroniser make, Workers workers)
      : property_(std::move(property)), make_(std::move(make)), workers_(std::move(workers)) {}

  const Workers& workers() const { return workers_; }
  bool in_process() const { return workers_.backend == "in_process"; }
  MethodProperties properties() const;
  TrafficClaim traffic_claim() const;

  // Begins a session whose workers meet after each step, so that a worker with fewer calls is noticed.
  // `calls`: the network, or a wrapper of it for the method's calls.
  Session begin(const World& world, LoggedCollective& network, Collective& calls) const;
  Session begin(const World& world, LoggedCollective& network) const {
    return begin(world, network, network);
  }

  void expect(Promise promise, bool condition, const std::string& what);
  std::vector<Finding> findings() const { return findings_; }

 private:
  std::unique_ptr<Synchroniser> make_sample() const;

  std::string property_;
  MakeSynchroniser make_;
  Workers workers_;
  std::mutex mutex_;
  std::vector<Finding> findings_;  // has equal ones if several workers find the same
};

struct Property {
  std::string name;
  std::vector<Promise> promises;
  bool (*applies)(const Examination& of);
  void (*examine)(Examination& of, LoggedCollective& network);  // on every worker
};

// The properties that all methods must have, and those examined only if a method declares them.
std::vector<Property> common_properties();
std::vector<Property> declared_properties();

// Examines all properties that apply, on connected workers. Returns the findings without repetitions; if a worker
// failed, its error is the last one.
std::vector<Finding> examine(const std::vector<Property>& properties, const MakeSynchroniser& make,
                             const Workers& workers, CallLog& log);

// Returns the findings as text, each with its property's name first.
std::vector<std::string> violations(const std::vector<Property>& properties, const MakeSynchroniser& make,
                                    const Workers& workers);

}  // namespace thinpipe::trainer::testing
