// SPDX-License-Identifier: Apache-2.0
#include "common/support/options.hh"
#include "trainer/synchronisers/adjustable_ratio.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/largest_entries.hh"
#include "trainer/synchronisers/sparse/sparsifier.hh"
#include "trainer/synchronisers/vectors_option.hh"

namespace thinpipe::trainer {
namespace {

struct TopKOptions {
  double ratio = 0.01;
  std::string scope = "bucket";
  std::string indices = "u32";
  std::string vectors = "dense";

  void visit(auto& field) {
    field("ratio", ratio,
          Rule{.effect = "kept fraction of the entries", .above = 0, .at_most = 1, .required = true});
    field("scope", scope,
          Rule{.effect = "the largest entries are kept in each bucket, in each tensor (as in the reference "
                         "code), or in the whole model as one bucket, so communication does not "
                         "overlap with compute",
               .one_of = {"bucket", "tensor", "global"}});
    field(
        "indices", indices,
        Rule{
            .effect =
                "how indices are encoded: u32, 4 bytes each; u16, 2 bytes within blocks; bitmap, a bit for "
                "every entry; golomb, near the entropy; huffman, the gaps' bytes; run_length, the bitmap's runs; "
                "sparse_all_reduce, 2 bytes or a bit within blocks, and entries with the same index are summed "
                "along the reduction tree (without a tree, u16)",
            .one_of = Sparsifier::index_options()});
    field("vectors", vectors, vectors_rule());
  }
};

// Sparsification with error feedback (Aji & Heafield, 2017). For each bucket or tensor of n entries:
//   acc = g + e;  I = the k largest |acc|, k = max(1, floor(ratio·n));  send acc[I];  e' = acc off I, 0 on I
// Their threshold comes from a sample, per layer or of all layers; ours is exact.
// State: e, float32 [n]. Each worker contributes 20 + 4k bytes and the indices to an all-gather; with
// `sparse_all_reduce`, 4k bytes and at most 2k to a sum, and 4 per 16384 entries.
class TopK : public Sparsifier, public AdjustableRatio {
 public:
  TopK(const TopKOptions& options, const SynchroniserContext& context)
      : Sparsifier(options.indices), options_(options), residual_(context.parameters) {}

  double ratio() const override { return options_.ratio; }
  void set_ratio(double ratio) override { options_.ratio = ratio; }

  bool needs_one_bucket() const override { return options_.scope == "global"; }
  bool leaves_dense(const ParameterInfo& parameter) const override {
    return stays_dense(parameter, options_.vectors);
  }

  void finish_step(bool applied) override { applied ? residual_.commit() : residual_.discard(); }
  void add_residual(Bucket& bucket) const override { residual_.add_to(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override { residual_.drop_pruned(kept); }
  void save(TensorMap& state, const std::string& prefix) const override { residual_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) override { residual_.load(state, prefix); }

 protected:
  void accumulate(Bucket& bucket) override { residual_.add_to(bucket); }

  std::vector<std::uint32_t> choose(const Bucket& bucket) override {
    return largest_entries(bucket, options_.ratio, scope());
  }

  void store_residual(const Bucket& bucket, std::span<const std::uint32_t> /*sent*/) override {
    residual_.stage(bucket, bucket.gradient);
  }

  std::int64_t count_for(const Bucket& bucket) const override {
    return count_of_largest(bucket, options_.ratio, scope());
  }

 private:
  ChoiceScope scope() const { return options_.scope == "tensor" ? ChoiceScope::tensor : ChoiceScope::bucket; }

  TopKOptions options_;
  Residual residual_;
};

THINPIPE_REGISTER(Synchroniser){"topk", "the largest entries with error feedback, over all-gather",
                                describe_options<TopKOptions>(),
                                [](JsonObject& options, const SynchroniserContext& context) {
                                  return std::make_unique<TopK>(read_options<TopKOptions>(options), context);
                                }};

}  // namespace
}  // namespace thinpipe::trainer
