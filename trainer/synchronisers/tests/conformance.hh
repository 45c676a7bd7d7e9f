// The conformance suite: the properties that every method must have, and those that it declares in addition
// (method_properties.hh). Each property describes its violations, so tests can check that it catches broken
// methods.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "trainer/synchronisers/tests/session.hh"

namespace thinpipe::trainer::testing {

using MakeSynchroniser = std::function<std::unique_ptr<Synchroniser>(const SynchroniserContext&)>;

struct Workers {
  std::string backend;  // "in_process", "gloo", "ring" or "island"
  int count = 1;
};

// A method under examination by all workers' threads, and their findings.
class Examination {
 public:
  Examination(MakeSynchroniser make, Workers workers)
      : make_(std::move(make)), workers_(std::move(workers)) {}

  const Workers& workers() const { return workers_; }
  bool in_process() const { return workers_.backend == "in_process"; }
  MethodProperties properties() const;
  Session begin(const World& world, Collective& network) const { return Session(make_, world, network); }

  void expect(bool condition, const std::string& what);
  std::vector<std::string> findings() const { return findings_; }

 private:
  MakeSynchroniser make_;
  Workers workers_;
  std::mutex mutex_;
  std::vector<std::string> findings_;
};

struct Property {
  std::string name;
  bool (*applies)(const Examination& of);
  void (*examine)(Examination& of, Collective& network);  // on every worker
};

// The properties that all methods must have, and those examined only if a method declares them.
std::vector<Property> common_properties();
std::vector<Property> declared_properties();

// Returns the violations, each with its property's name first. Examines property after property on connected
// workers.
std::vector<std::string> violations(const std::vector<Property>& properties, const MakeSynchroniser& make,
                                    const Workers& workers);

}  // namespace thinpipe::trainer::testing
