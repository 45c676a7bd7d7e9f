#include "harness/reports/rows.hh"

#include <map>
#include <utility>

namespace thinpipe {
namespace {

constexpr const char* baseline_methods[] = {"dense", "fp16"};

// Finds a run's baselines without a search through all runs.
class Baselines {
 public:
  explicit Baselines(const std::vector<Digest>& digests) {
    for (const Digest& digest : digests) {
      if (digest.row.at("status") != "completed") continue;
      Alike& alike = by_comparison_[{digest.comparable, digest.method}];
      if (!digest.is_pruned()) {
        if (alike.unpruned == nullptr) alike.unpruned = &digest;
      } else {
        alike.by_pruning[digest.pruning.dump()] = &digest;
      }
    }
  }

  // Returns nullptr if there is none.
  const Digest* find(const Digest& run, const std::string& method) const {
    const auto found = by_comparison_.find({run.comparable, method});
    if (found == by_comparison_.end()) return nullptr;
    const Alike& alike = found->second;
    if (alike.unpruned != nullptr) return alike.unpruned;
    const auto pruned_alike = alike.by_pruning.find(run.pruning.dump());
    return pruned_alike == alike.by_pruning.end() ? nullptr : pruned_alike->second;
  }

 private:
  struct Alike {
    const Digest* unpruned = nullptr;
    std::map<std::string, const Digest*> by_pruning;
  };
  std::map<std::pair<std::string, std::string>, Alike> by_comparison_;
};

// The baseline has the same targets, because it is comparable.
void add_speed_up(Json& row, const Digest* baseline, const std::string& method) {
  const std::string field = "speed_up_over_" + method;
  row[field] = nullptr;
  row[field + "_at_least"] = false;
  const Json& own_time_s = row.at("time_to_accuracy_s");
  if (baseline == nullptr || !own_time_s.is_number() || own_time_s == 0) return;
  const Json& reached_s = baseline->row.at("time_to_accuracy_s");
  const bool at_least = reached_s.is_null();
  const Json& their_time_s = at_least ? baseline->row.at("train_time_s") : reached_s;
  if (!their_time_s.is_number()) return;
  row[field] = their_time_s.get<double>() / own_time_s.get<double>();
  row[field + "_at_least"] = at_least;
}

}  // namespace

Json take_rows(std::vector<Digest>& digests) {
  const Baselines baselines(digests);
  for (Digest& digest : digests) {
    if (digest.row.at("target").is_null()) continue;
    for (const char* method : baseline_methods)
      add_speed_up(digest.row, baselines.find(digest, method), method);
  }
  Json rows = Json::array();
  for (Digest& digest : digests) rows.push_back(std::move(digest.row));
  return rows;
}

}  // namespace thinpipe
