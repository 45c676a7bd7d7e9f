// The conformance suite: what every method must do, and what it promises beyond (promises.hh). Each property
// says what is wrong, so that deliberately broken methods can be seen to be caught.
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

// A method under examination by all workers' threads, and what they find wrong.
class Examination {
 public:
  Examination(MakeSynchroniser make, Workers workers)
      : make_(std::move(make)), workers_(std::move(workers)) {}

  const Workers& workers() const { return workers_; }
  bool in_process() const { return workers_.backend == "in_process"; }
  Promises promises() const;
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

// What all must do, and what is asked of those who promise it.
std::vector<Property> common_properties();
std::vector<Property> promised_properties();

// What is wrong, each finding after its property's name; among connected workers, property after property.
std::vector<std::string> violations(const std::vector<Property>& properties, const MakeSynchroniser& make,
                                    const Workers& workers);

}  // namespace thinpipe::trainer::testing
