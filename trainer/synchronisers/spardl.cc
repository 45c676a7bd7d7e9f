#include <algorithm>
#include <iterator>

#include "harness/support/options.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/sparse/spar_schedule.hh"
#include "trainer/synchronisers/sparse/sparse_entries.hh"
#include "trainer/synchronisers/sparse/top_k.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

struct SparDLOptions {
  double ratio = 0.01;

  void visit(auto& field) {
    field("ratio", ratio,
          Rule{.effect = "kept fraction of the entries of each worker's block", .above = 0, .at_most = 1});
  }
};

// Sparse all-reduce in which sums stay sparse. Block j of P belongs to worker j; of each block that a worker
// hands on it sends the k largest sums so far, k = max(1, floor(ratio·⌈n/P⌉)):
//   X = acc = g + e
//   in each round of spar_schedule.hh: of each block B to hand on, send the k largest of X_B, and
//   set them to 0 in X; add what comes to X
//   F = the k largest of X in the own block, likewise set to 0;  all-gather F;  G = ∪F
//   out[G] = F/P;  e' = acc off G, X on G
// What was dropped on its way comes back: off G each worker still has its own share, on G whoever dropped a
// sum has it (the paper's global residual). One team of all workers, d = 1, as in the published code. Zhao et
// al., SparDL (ICDE 2024).
// Blocks here differ by at most one entry, where the paper's last are short or empty. For a block of fewer
// than k entries, entries of index n fill the message up and stand for nothing: all messages are of one size,
// and none need be announced.
// State: e, float32 [n].
// Payload 8k·P bytes: 8k(P - 1) in ⌈log2 P⌉ rounds and 8k all-gathered.
class SparDL : public Synchroniser {
 public:
  SparDL(const SparDLOptions& options, const SynchroniserContext& context)
      : ratio_(options.ratio), residual_(context.parameters) {}

  Promises promises() const override { return {.estimate = Estimate::delayed}; }

  bool leaves_dense(const ParameterInfo& parameter) const override { return parameter.dimensions <= 1; }

  void finish_step(bool applied) override { applied ? residual_.commit() : residual_.discard(); }
  void add_held_back(Bucket& bucket) const override { residual_.add_to(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override { residual_.drop_pruned(kept); }
  void save(TensorMap& state, const std::string& prefix) const override { residual_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) override { residual_.load(state, prefix); }

  void synchronise(Bucket& bucket, Collective& network) override {
    const int workers = network.world_size();
    residual_.add_to(bucket);
    const torch::Tensor held = bucket.gradient.clone();  // acc, and on G, in the end, R
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

  // Appends the k largest entries of a block and sets them to zero.
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

  // Without those that only fill up.
  static std::vector<SparseEntry> read(const torch::Tensor& message, std::int64_t n) {
    std::vector<SparseEntry> entries = read_entries(elements<std::uint8_t>(message), 0, n + 1);
    std::erase_if(entries, [n](const SparseEntry& entry) { return entry.index == n; });
    return entries;
  }

  // To the worker `distance` further; returns what came from the one as far behind.
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
    "spardl", "the largest entries of each block, kept sparse from worker to worker, with error feedback",
    describe_options<SparDLOptions>(), [](JsonObject& options, const SynchroniserContext& context) {
      return std::make_unique<SparDL>(read_options<SparDLOptions>(options), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
