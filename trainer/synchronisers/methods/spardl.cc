// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/adjustable_ratio.hh"
#include "trainer/synchronisers/circle_messages.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/sparse/spar_schedule.hh"
#include "trainer/synchronisers/sparse/sparse_entries.hh"
#include "trainer/synchronisers/sparse/top_k.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/synchronisers/vectors_option.hh"

namespace thinpipe::trainer {
namespace {

using Entries = std::vector<SparseEntry>;

struct SparDLOptions {
  double ratio = 0.01;
  std::int64_t teams = 1;
  std::string vectors = "dense";

  void visit(auto& field) {
    field("ratio", ratio,
          Rule{.effect = "kept fraction of the entries of each worker's block", .above = 0, .at_most = 1});
    field("teams", teams,
          Rule{.effect = "teams of equally many workers: each sums up its entries, then the teams exchange "
                         "their sums, in fewer rounds than one large team; must divide the number of workers",
               .at_least = 1});
    field("vectors", vectors, vectors_rule());
  }
};

// Sparse all-reduce in which sums stay sparse. P workers form d teams of m = P/d. Worker j of each team owns
// block j of m. Of each block that it passes on, a worker sends the k largest sums so far,
// k = max(1, floor(ratio·⌈n/m⌉)):
//   X = acc = g + e
//   Spar-Reduce-Scatter in the team: in each round of spar_schedule.hh, of each block B to pass on, send the k
//     largest of X_B, and set them to 0 in X; add the received entries to X
//   F = the k largest of X in the own block, likewise set to 0
//   Spar-All-Gather, if d > 1: F = the k largest of the sum of F over the teams
//   all-gather F in the team;  G = ∪F;  out[G] = F/P;  e' = acc off G, X on G
// Sums that are dropped on the way stay in residuals: off G each worker still has its own share, and on G the
// worker that dropped a sum has it (the paper's global residual).
//
// Spar-All-Gather depends on d:
// - A power of two (R-SAG): in step s the owners of a block in teams t and t xor 2^s swap F, add both, and keep the
//   k largest. 2^(s+1) owners then have the same sum; each adds 1/2^(s+1) of each dropped entry to X.
// - Otherwise (B-SAG): owners gather the h largest of each team, add them up in the order of teams, and keep the k
//   largest. Dropped entries are not in G. At first h = k. If the sums of all blocks had M entries before the
//   choice, the next step has h·m·k/M, between ⌈k/d⌉ and k: M then approaches m·k. Each block's number of entries
//   is gathered with it, so that h is the same on every worker.
//
// With one team, an all-gather of the collective is the last phase, which may follow a tree. Several teams gather
// in ⌈log2 m⌉ rounds, as in the paper. Zhao et al., SparDL (ICDE 2024). In the published code d is fixed to 1. Its
// B-SAG changes h by steps whose size adapts, separately for each block.
//
// Blocks here differ by at most one entry; the paper's last blocks are short or empty. Messages of fewer entries
// are padded with entries of index n: all messages have known sizes, so no sizes are sent.
// State: e, float32 [n]; with B-SAG, h per bucket.
// Payload with one team 8k·P bytes: 8k(P - 1) in ⌈log2 P⌉ rounds and 8k all-gathered. With d teams
// 16k(m - 1) bytes in 2⌈log2 m⌉ rounds, and 8k·log2 d bytes in log2 d rounds or 8h(d - 1) + 8(m - 1) bytes in
// ⌈log2 d⌉ rounds.
class SparDL : public Synchroniser, public AdjustableRatio {
 public:
  SparDL(const SparDLOptions& options, const SynchroniserContext& context)
      : options_(options), residual_(context.parameters) {}

  MethodProperties properties() const override { return {.estimate = Estimate::error_feedback}; }

  double ratio() const override { return options_.ratio; }
  void set_ratio(double ratio) override { options_.ratio = ratio; }

  std::int64_t workers_multiple_of() const override { return options_.teams; }

  bool leaves_dense(const ParameterInfo& parameter) const override {
    return stays_dense(parameter, options_.vectors);
  }

  void prepare(const std::vector<Bucket>& layout) override {
    offers_.assign(layout.size(), 0);
    staged_offers_ = offers_;
  }

  void finish_step(bool applied) override {
    applied ? residual_.commit() : residual_.discard();
    if (applied) {
      offers_ = staged_offers_;
    } else {
      staged_offers_ = offers_;
    }
  }

  void add_residual(Bucket& bucket) const override { residual_.add_to(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override { residual_.drop_pruned(kept); }

  void synchronise(Bucket& bucket, Collective& network) override {
    const SparTeams teams = spar_teams(options_.teams, network.rank(), network.world_size());
    residual_.add_to(bucket);
    const torch::Tensor held = bucket.gradient.clone();  // acc; in the end X on G
    const std::span<float> values = floats(bucket.gradient);
    reduce_in_team(values, teams, network);
    const Entries all = gather(bucket, teams, network);
    const std::span<float> held_values = floats(held);
    for (const SparseEntry& entry : all) held_values[entry.index] = values[entry.index];
    residual_.stage(bucket, held);
    bucket.gradient.zero_();
    const auto workers = static_cast<float>(network.world_size());
    for (const SparseEntry& entry : all) values[entry.index] = entry.value / workers;
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    const SparTeams teams = spar_teams(options_.teams, 0, world_size);
    return traffic_of(teams, kept(bucket.size, teams), offer_of(bucket, teams));
  }

  // With B-SAG, a lower bound: the teams' indices do not overlap.
  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    const SparTeams teams = spar_teams(options_.teams, 0, world_size);
    const std::int64_t k = kept(bucket.size, teams);
    return traffic_of(teams, k, least_offer(k, teams));
  }

  void save(TensorMap& state, const std::string& prefix) const override {
    residual_.save(state, prefix);
    for (std::size_t b = 0; b < offers_.size(); ++b) {
      if (offers_[b] > 0) state[name_of_offer(prefix, b)] = torch::tensor({offers_[b]}, torch::kLong);
    }
  }

  // Call after prepare().
  void load(const TensorMap& state, const std::string& prefix) override {
    residual_.load(state, prefix);
    for (std::size_t b = 0; b < offers_.size(); ++b) {
      const std::string name = name_of_offer(prefix, b);
      if (!state.contains(name)) continue;
      offers_[b] =
          expect_tensor(state, name, torch::empty({1}, torch::kLong), "checkpoint").item<std::int64_t>();
    }
    staged_offers_ = offers_;
  }

 private:
  static std::string name_of_offer(const std::string& prefix, std::size_t bucket) {
    return fmt::format("{}bucket_{}.offer", prefix, bucket);
  }

  // Returns k.
  std::int64_t kept(std::int64_t n, const SparTeams& teams) const {
    return kept_count(options_.ratio, (n + teams.members - 1) / teams.members);
  }

  static std::int64_t least_offer(std::int64_t k, const SparTeams& teams) {
    return (k + teams.count - 1) / teams.count;
  }

  // Returns h of the next step.
  std::int64_t offer_of(const Bucket& bucket, const SparTeams& teams) const {
    const std::int64_t k = kept(bucket.size, teams);
    const std::int64_t offer = bucket.index < offers_.size() ? offers_[bucket.index] : 0;
    return offer == 0 ? k : std::clamp(offer, least_offer(k, teams), k);
  }

  static ExpectedTraffic traffic_of(const SparTeams& teams, std::int64_t k, std::int64_t h) {
    const std::int64_t block = sparse_entry_bytes * k;
    ExpectedTraffic traffic;
    for (const SparRound& round : spar_rounds(teams.members)) {
      traffic += shift_traffic(round.blocks * block, {.group = teams.members, .distance = round.distance});
    }
    if (teams.count == 1) return traffic + all_gather_traffic(block, teams.members);
    if (!teams_form_pairs(teams.count)) {
      return traffic + gather_around_traffic(sparse_entry_bytes * h, teams.count, teams.members) +
             gather_around_traffic(block + sparse_entry_bytes, teams.members, 1);
    }
    for (int step = 1; step < teams.count; step *= 2) {
      traffic += shift_traffic(block, {.group = 2 * step * teams.members, .distance = step * teams.members});
    }
    return traffic + gather_around_traffic(block, teams.members, 1);
  }

  // Spar-Reduce-Scatter.
  void reduce_in_team(std::span<float> values, const SparTeams& teams, Collective& network) const {
    const std::int64_t n = std::ssize(values);
    const std::int64_t k = kept(n, teams);
    const Circle team = teams.own_team();
    for (const SparRound& round : spar_rounds(teams.members)) {
      const int next = (teams.place + round.distance) % teams.members;
      Entries sent;
      for (int b = 0; b < round.blocks; ++b) {
        const Entries block = take_largest(values, (next + b) % teams.members, teams.members, k);
        std::ranges::copy(padded(block, k, n), std::back_inserter(sent));
      }
      const torch::Tensor received =
          pass_on(message_of(sent), team.rank_at(next), team.rank_at(teams.place - round.distance), network);
      for (const SparseEntry& entry : read(received, n)) values[entry.index] += entry.value;
    }
  }

  // Returns the entries of G with their sums, from the sums in this worker's block.
  Entries gather(const Bucket& bucket, const SparTeams& teams, Collective& network) {
    const std::span<float> values = floats(bucket.gradient);
    const std::int64_t n = bucket.size;
    const std::int64_t k = kept(n, teams);
    if (teams.count > 1 && !teams_form_pairs(teams.count)) return gather_offers(bucket, teams, network);
    Entries own = take_largest(values, teams.place, teams.members, k);
    if (teams.count == 1) return join(gather_equal(message_of(padded(own, k, n)), network), n);
    own = swap_in_pairs(std::move(own), values, teams, network);
    return join(gather_around(message_of(padded(own, k, n)), teams.own_team(), teams.place, network), n);
  }

  // R-SAG: returns the own block's largest sums over all teams, from those of this team.
  Entries swap_in_pairs(Entries own, std::span<float> values, const SparTeams& teams,
                        Collective& network) const {
    const std::int64_t n = std::ssize(values);
    const std::int64_t k = kept(n, teams);
    for (int step = 1; step < teams.count; step *= 2) {
      const int partner = teams.owners().rank_at(teams.team ^ step);
      const torch::Tensor received = pass_on(message_of(padded(own, k, n)), partner, partner, network);
      const Entries theirs = read(received, n);
      // Both add in the order of teams: NaNs, too, are then the same.
      own = (teams.team & step) == 0 ? add_entries(own, theirs) : add_entries(theirs, own);
      const auto sharers = static_cast<float>(2 * step);
      for (const SparseEntry& entry : keep_largest(own, static_cast<std::size_t>(k))) {
        values[entry.index] += entry.value / sharers;
      }
    }
    return own;
  }

  // B-SAG and the all-gather.
  Entries gather_offers(const Bucket& bucket, const SparTeams& teams, Collective& network) {
    const std::int64_t n = bucket.size;
    const std::int64_t k = kept(n, teams);
    const std::int64_t h = offer_of(bucket, teams);
    const Entries own = take_largest(floats(bucket.gradient), teams.place, teams.members, h);
    Entries sum;
    for (const torch::Tensor& offer :
         gather_around(message_of(padded(own, h, n)), teams.owners(), teams.team, network)) {
      sum = add_entries(sum, read(offer, n));
    }
    const SparseEntry count{.index = static_cast<std::uint32_t>(sum.size()), .value = 0};
    keep_largest(sum, static_cast<std::size_t>(k));
    Entries sent = padded(sum, k, n);
    sent.push_back(count);
    Messages blocks = gather_around(message_of(sent), teams.own_team(), teams.place, network);
    std::int64_t merged = 0;  // M
    for (torch::Tensor& block : blocks) {
      merged += entries_of(block, n).back().index;
      block = block.narrow(0, 0, k * sparse_entry_bytes);
    }
    const std::int64_t next = h * k * teams.members / std::max<std::int64_t>(merged, 1);
    staged_offers_.at(bucket.index) = std::clamp(next, least_offer(k, teams), k);
    return join(blocks, n);
  }

  // Returns the largest entries of a block, at most `count`, and sets them to zero in `values`.
  static Entries take_largest(std::span<float> values, int block, int blocks, std::int64_t count) {
    const std::int64_t n = std::ssize(values);
    const auto begin = static_cast<std::size_t>(block * n / blocks);
    const auto end = static_cast<std::size_t>((block + 1) * n / blocks);
    Entries out;
    for (const std::uint32_t i : top_k_indices(values.subspan(begin, end - begin),
                                               std::min(static_cast<std::size_t>(count), end - begin))) {
      float& value = values[begin + i];
      out.push_back({static_cast<std::uint32_t>(begin) + i, value});
      value = 0;
    }
    return out;
  }

  static Entries padded(Entries entries, std::int64_t count, std::int64_t n) {
    entries.resize(static_cast<std::size_t>(count), {static_cast<std::uint32_t>(n), 0});
    return entries;
  }

  static torch::Tensor message_of(const Entries& entries) {
    return trainer::message_of(write_entries(entries));
  }

  static Entries entries_of(const torch::Tensor& message, std::int64_t n) {
    return read_entries(elements<std::uint8_t>(message), 0, n + 1);
  }

  // Returns the message's entries without padding.
  static Entries read(const torch::Tensor& message, std::int64_t n) {
    Entries entries = entries_of(message, n);
    std::erase_if(entries, [n](const SparseEntry& entry) { return entry.index == n; });
    return entries;
  }

  static Entries join(const Messages& messages, std::int64_t n) {
    Entries all;
    for (const torch::Tensor& message : messages)
      std::ranges::copy(read(message, n), std::back_inserter(all));
    return all;
  }

  SparDLOptions options_;
  Residual residual_;
  std::vector<std::int64_t> offers_;         // per bucket: h of the next step, 0 for k
  std::vector<std::int64_t> staged_offers_;  // of the current step
};

THINPIPE_REGISTER(Synchroniser){
    "spardl", "the largest entries of each block, kept sparse between workers, with error feedback",
    describe_options<SparDLOptions>(), [](JsonObject& options, const SynchroniserContext& context) {
      return std::make_unique<SparDL>(read_options<SparDLOptions>(options), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
