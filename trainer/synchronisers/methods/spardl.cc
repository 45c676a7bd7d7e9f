#include <algorithm>
#include <iterator>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/sparse/spar_schedule.hh"
#include "trainer/synchronisers/sparse/sparse_entries.hh"
#include "trainer/synchronisers/sparse/top_k.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

struct SparDLOptions {
  double ratio = 0.01;

  void visit(auto& field) {
    field("ratio", ratio,
          Rule{.effect = "kept fraction of the entries of each worker's block", .above = 0, .at_most = 1});
  }
};

// Sparse all-reduce in which sums stay sparse. Worker j owns block j of P. Of each block that it passes on, a
// worker sends the k largest sums so far, k = max(1, floor(ratio·⌈n/P⌉)):
//   X = acc = g + e
//   in each round of spar_schedule.hh: of each block B to pass on, send the k largest of X_B, and
//   set them to 0 in X; add the received entries to X
//   F = the k largest of X in the own block, likewise set to 0;  all-gather F;  G = ∪F
//   out[G] = F/P;  e' = acc off G, X on G
// Sums that are dropped on the way stay in residuals: off G each worker still has its own share, and on G the
// worker that dropped a sum has it (the paper's global residual). All workers form one team, d = 1, as in the
// published code. Zhao et al., SparDL (ICDE 2024).
//
// Blocks here differ by at most one entry; the paper's last blocks are short or empty. Messages for blocks of
// fewer than k entries are padded with entries of index n: all messages have the same size, so no sizes are
// sent.
// State: e, float32 [n].
// Payload 8k·P bytes: 8k(P - 1) in ⌈log2 P⌉ rounds and 8k all-gathered.
class SparDL : public Synchroniser {
 public:
  SparDL(const SparDLOptions& options, const SynchroniserContext& context)
      : ratio_(options.ratio), residual_(context.parameters) {}

  MethodProperties properties() const override { return {.estimate = Estimate::error_feedback}; }

  bool leaves_dense(const ParameterInfo& parameter) const override { return parameter.dimensions <= 1; }

  void finish_step(bool applied) override { applied ? residual_.commit() : residual_.discard(); }
  void add_residual(Bucket& bucket) const override { residual_.add_to(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override { residual_.drop_pruned(kept); }
  void save(TensorMap& state, const std::string& prefix) const override { residual_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) override { residual_.load(state, prefix); }

  void synchronise(Bucket& bucket, Collective& network) override {
    const int workers = network.world_size();
    residual_.add_to(bucket);
    const torch::Tensor held = bucket.gradient.clone();  // acc; in the end X on G
    const std::span<float> values = floats(bucket.gradient);
    for (const SparRound& round : spar_rounds(workers)) {
      const int next = (network.rank() + round.distance) % workers;
      std::vector<SparseEntry> sent;
      for (int b = 0; b < round.blocks; ++b) take_largest(values, (next + b) % workers, workers, sent);
      const torch::Tensor received = hand_on(message_of(write_entries(sent)), round, network);
      for (const SparseEntry& entry : read(received, bucket.size)) values[entry.index] += entry.value;
    }
    std::vector<SparseEntry> own;
    take_largest(values, network.rank(), workers, own);
    std::vector<SparseEntry> all;
    for (const torch::Tensor& message : gather_equal(message_of(write_entries(own)), network)) {
      std::ranges::copy(read(message, bucket.size), std::back_inserter(all));
    }
    const std::span<float> held_values = floats(held);
    for (const SparseEntry& entry : all) held_values[entry.index] = values[entry.index];
    residual_.stage(bucket, held);
    bucket.gradient.zero_();
    for (const SparseEntry& entry : all) values[entry.index] = entry.value / static_cast<float>(workers);
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    const std::int64_t block = sparse_entry_bytes * kept_of_block(bucket.size, world_size);
    ExpectedTraffic traffic = all_gather_traffic(block, world_size);
    for (const SparRound& round : spar_rounds(world_size)) {
      traffic += shift_traffic(round.blocks * block, round.distance);
    }
    return traffic;
  }

 private:
  std::int64_t kept_of_block(std::int64_t n, int workers) const {
    return kept_count(ratio_, (n + workers - 1) / workers);
  }

  // Appends the k largest entries of a block to `out` and sets them to zero in `values`.
  void take_largest(std::span<float> values, int block, int workers, std::vector<SparseEntry>& out) const {
    const std::int64_t n = std::ssize(values);
    const auto begin = static_cast<std::size_t>(block * n / workers);
    const auto end = static_cast<std::size_t>((block + 1) * n / workers);
    const auto k = static_cast<std::size_t>(kept_of_block(n, workers));
    const std::size_t filled = out.size() + k;
    for (const std::uint32_t i :
         top_k_indices(values.subspan(begin, end - begin), std::min(k, end - begin))) {
      float& value = values[begin + i];
      out.push_back({static_cast<std::uint32_t>(begin) + i, value});
      value = 0;
    }
    out.resize(filled, {static_cast<std::uint32_t>(n), 0});
  }

  // Returns the message's entries without padding.
  static std::vector<SparseEntry> read(const torch::Tensor& message, std::int64_t n) {
    std::vector<SparseEntry> entries = read_entries(elements<std::uint8_t>(message), 0, n + 1);
    std::erase_if(entries, [n](const SparseEntry& entry) { return entry.index == n; });
    return entries;
  }

  // Sends to the worker `distance` ranks ahead, and returns the message from the worker as far behind.
  static torch::Tensor hand_on(const torch::Tensor& message, const SparRound& round, Collective& network) {
    const int workers = network.world_size();
    std::vector<std::int64_t> to(static_cast<std::size_t>(workers));
    std::vector<std::int64_t> from(static_cast<std::size_t>(workers));
    to[(network.rank() + round.distance) % workers] = message.numel();
    from[(network.rank() + workers - round.distance) % workers] = message.numel();
    return network.all_to_all_v(message, to, from);
  }

  double ratio_;
  Residual residual_;
};

THINPIPE_REGISTER(Synchroniser){
    "spardl", "the largest entries of each block, kept sparse between workers, with error feedback",
    describe_options<SparDLOptions>(), [](JsonObject& options, const SynchroniserContext& context) {
      return std::make_unique<SparDL>(read_options<SparDLOptions>(options), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
