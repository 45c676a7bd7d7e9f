// SPDX-License-Identifier: Apache-2.0
// The part of a record that a report keeps, so that it need not hold all records at once. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/records/change_time.hh"
#include "harness/records/record_data.hh"

namespace thinpipe {

// The target and the baselines that a report uses, and the parts of a record that a digest keeps beside its
// row.
struct Wanted {
  std::optional<Target> target = {};      // nullopt: the last of the record's own targets
  std::optional<std::int64_t> hold = {};  // evaluations at the target; nullopt: the record's own number
  std::vector<std::string> over = {};     // further baselines (take_rows)
  bool curve = false;
  bool config = false;
  bool origin = false;
};

struct Digest {
  Json row;  // docs/reference/report.md defines its members; lacks speed-ups, which need other runs
  std::string started_at;
  bool continues = false;                   // was interrupted with a checkpoint
  std::string slurm_job;                    // which executed it; empty outside of Slurm
  ChangeTime changed = before_all_changes;  // of its file; those who read one set it

  // These find its baselines. `comparable` is equal for runs that differ only in method and pruning,
  // `same_task` for those that differ in the optimiser or in the options of a trainer's command too.
  std::string comparable;
  std::string same_task;
  std::string method;
  Json pruning;
  // The machine and the program that measured its times; empty if nothing was measured, as in a simulation.
  std::string measured_by;

  std::vector<std::string> origin;  // the values of origin_facts(), if wanted
  std::vector<std::string> failed_checks;
  std::vector<record::CurvePoint> curve;  // if wanted
  Json config = nullptr;                  // its decisive part, if wanted
  std::optional<std::string> parameters_hash;

  bool is_pruned() const { return pruning.value("ratio", 0.0) > 0; }
};

// Returns a record's digest. Throws InputError or Json::exception if the configuration is not as a trainer
// writes it.
Digest digest(Record record, const Wanted& wanted = {});

// Returns the names of the facts about a run's origin, in the order of Digest::origin.
std::vector<std::string> origin_facts();

}  // namespace thinpipe
