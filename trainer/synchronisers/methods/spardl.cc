// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/adjustable_ratio.hh"
#include "trainer/synchronisers/circle_messages.hh"
#include "trainer/synchronisers/entries/entry_code.hh"
#include "trainer/synchronisers/entries/spar_schedule.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/sparse/top_k.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/synchronisers/vectors_option.hh"

namespace thinpipe::trainer {
namespace {

using Entries = std::vector<SparseEntry>;

struct SparDLOptions {
  double ratio = 0.01;
  std::int64_t teams = 1;
  std::string indices = "u32";
  std::string vectors = "dense";

  void visit(auto& field) {
    field("ratio", ratio,
          Rule{.effect = "kept fraction of the entries of each worker's block", .above = 0, .at_most = 1});
    field("teams", teams,
          Rule{.effect = "teams of equally many workers: each sums up its entries, then the teams exchange "
                         "their sums, in fewer rounds than one large team; must divide the number of workers",
               .at_least = 1});
    field(
        "indices", indices,
        Rule{
            .effect =
                "how indices are encoded: u32, 4 bytes each, as in the published code; u16, 2 bytes in parts "
                "of a block",
            .one_of = EntryCode::options()});
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
// are padded: all messages have known sizes, so no sizes are sent.
// State: e, float32 [n]; with B-SAG, h per bucket.
// Payload with one team 8k·P bytes: 8k(P - 1) in ⌈log2 P⌉ rounds and 8k all-gathered. With d teams
// 16k(m - 1) bytes in 2⌈log2 m⌉ rounds, and 8k·log2 d bytes in log2 d rounds or 8h(d - 1) + 8(m - 1) bytes in
// ⌈log2 d⌉ rounds. With u16, 6k bytes instead of 8k, and for each block 4 and 4 per 65536 elements.
class SparDL : public Synchroniser, public AdjustableRatio {
 public:
  SparDL(const SparDLOptions& options, const SynchroniserContext& context)
      : options_(options), code_(options.indices), residual_(context.parameters) {}

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
    return traffic_of(teams, bucket.size, offer_of(bucket, teams));
  }

  // With B-SAG, a lower bound: the teams' indices do not overlap.
  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    const SparTeams teams = spar_teams(options_.teams, 0, world_size);
    return traffic_of(teams, bucket.size, least_offer(kept(bucket.size, teams), teams));
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

  static std::int64_t largest_block(std::int64_t n, const SparTeams& teams) {
    return (n + teams.members - 1) / teams.members;
  }

  // Returns k.
  std::int64_t kept(std::int64_t n, const SparTeams& teams) const {
    return kept_count(options_.ratio, largest_block(n, teams));
  }

  // Returns the bytes of `count` entries of a block, the same for each block.
  std::int64_t bytes_of(std::int64_t n, const SparTeams& teams, std::int64_t count) const {
    return code_.bytes(largest_block(n, teams), count);
  }

  static IndexRange range_of(int block, std::int64_t n, const SparTeams& teams) {
    return {.begin = block * n / teams.members, .end = (block + 1) * n / teams.members};
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

  ExpectedTraffic traffic_of(const SparTeams& teams, std::int64_t n, std::int64_t h) const {
    const std::int64_t block = bytes_of(n, teams, kept(n, teams));
    ExpectedTraffic traffic;
    for (const SparRound& round : spar_rounds(teams.members)) {
      traffic += shift_traffic(round.blocks * block, {.group = teams.members, .distance = round.distance});
    }
    if (teams.count == 1) return traffic + all_gather_traffic(block, teams.members);
    if (!teams_form_pairs(teams.count)) {
      return traffic + gather_around_traffic(bytes_of(n, teams, h), teams.count, teams.members) +
             gather_around_traffic(block + merged_bytes, teams.members, 1);
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
    const std::int64_t bytes = bytes_of(n, teams, k);
    const Circle team = teams.own_team();
    for (const SparRound& round : spar_rounds(teams.members)) {
      const int next = (teams.place + round.distance) % teams.members;
      std::vector<std::uint8_t> sent;
      for (int b = 0; b < round.blocks; ++b) {
        const IndexRange block = range_of((next + b) % teams.members, n, teams);
        code_.append(take_largest(values, block, k), block, sent, bytes);
      }
      const torch::Tensor received =
          pass_on(message_of(sent), team.rank_at(next), team.rank_at(teams.place - round.distance), network);
      for (int b = 0; b < round.blocks; ++b) {
        const IndexRange block = range_of((teams.place + b) % teams.members, n, teams);
        for (const SparseEntry& entry :
             code_.read(elements<std::uint8_t>(received.narrow(0, b * bytes, bytes)), block))
          values[entry.index] += entry.value;
      }
    }
  }

  // Returns the entries of G with their sums, from the sums in this worker's block.
  Entries gather(const Bucket& bucket, const SparTeams& teams, Collective& network) {
    const std::span<float> values = floats(bucket.gradient);
    const std::int64_t n = bucket.size;
    const std::int64_t k = kept(n, teams);
    if (teams.count > 1 && !teams_form_pairs(teams.count)) return gather_offers(bucket, teams, network);
    const IndexRange block = range_of(teams.place, n, teams);
    Entries own = take_largest(values, block, k);
    const auto message = [&] { return encoded(own, block, bytes_of(n, teams, k)); };
    if (teams.count == 1) return join(gather_equal(message(), network), n, teams);
    own = swap_in_pairs(std::move(own), values, teams, network);
    return join(gather_around(message(), teams.own_team(), teams.place, network), n, teams);
  }

  // R-SAG: returns the own block's largest sums over all teams, from those of this team.
  Entries swap_in_pairs(Entries own, std::span<float> values, const SparTeams& teams,
                        Collective& network) const {
    const std::int64_t n = std::ssize(values);
    const std::int64_t k = kept(n, teams);
    const IndexRange block = range_of(teams.place, n, teams);
    for (int step = 1; step < teams.count; step *= 2) {
      const int partner = teams.owners().rank_at(teams.team ^ step);
      const torch::Tensor received =
          pass_on(encoded(own, block, bytes_of(n, teams, k)), partner, partner, network);
      const Entries theirs = read(received, block);
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
    const IndexRange own = range_of(teams.place, n, teams);
    const torch::Tensor offered =
        encoded(take_largest(floats(bucket.gradient), own, h), own, bytes_of(n, teams, h));
    Entries sum;
    for (const torch::Tensor& offer : gather_around(offered, teams.owners(), teams.team, network))
      sum = add_entries(sum, read(offer, own));
    const torch::Tensor count = torch::tensor({static_cast<std::int64_t>(sum.size())}, torch::kLong);
    keep_largest(sum, static_cast<std::size_t>(k));
    const std::int64_t bytes = bytes_of(n, teams, k);
    const torch::Tensor sent = torch::cat({encoded(sum, own, bytes), count.view(torch::kByte)});
    Messages blocks = gather_around(sent, teams.own_team(), teams.place, network);
    std::int64_t merged = 0;  // M
    for (torch::Tensor& block : blocks) {
      merged += block.narrow(0, bytes, merged_bytes).clone().view(torch::kLong).item<std::int64_t>();
      block = block.narrow(0, 0, bytes);
    }
    const std::int64_t next = h * k * teams.members / std::max<std::int64_t>(merged, 1);
    staged_offers_.at(bucket.index) = std::clamp(next, least_offer(k, teams), k);
    return join(blocks, n, teams);
  }

  // Returns the largest entries of a block, at most `count`, and sets them to zero in `values`.
  static Entries take_largest(std::span<float> values, const IndexRange& block, std::int64_t count) {
    const auto begin = static_cast<std::size_t>(block.begin);
    const auto end = static_cast<std::size_t>(block.end);
    Entries out;
    for (const std::uint32_t i : top_k_indices(values.subspan(begin, end - begin),
                                               std::min(static_cast<std::size_t>(count), end - begin))) {
      float& value = values[begin + i];
      out.push_back({static_cast<std::uint32_t>(begin) + i, value});
      value = 0;
    }
    return out;
  }

  torch::Tensor encoded(const Entries& entries, const IndexRange& range, std::int64_t bytes) const {
    std::vector<std::uint8_t> message;
    code_.append(entries, range, message, bytes);
    return message_of(message);
  }

  Entries read(const torch::Tensor& message, const IndexRange& range) const {
    return code_.read(elements<std::uint8_t>(message), range);
  }

  // messages: of the blocks in order.
  Entries join(const Messages& messages, std::int64_t n, const SparTeams& teams) const {
    Entries all;
    for (std::size_t block = 0; block < messages.size(); ++block)
      std::ranges::copy(read(messages[block], range_of(static_cast<int>(block), n, teams)),
                        std::back_inserter(all));
    return all;
  }

  static constexpr std::int64_t merged_bytes = 8;  // of M's share

  SparDLOptions options_;
  EntryCode code_;
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
