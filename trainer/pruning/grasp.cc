// SPDX-License-Identifier: Apache-2.0
// GraSP removes the weights whose removal least harms, or most helps, the gradient flow. Wang, Zhang, Grosse
// (ICLR 2020). Designed for weights at initialisation; at a converged point g is nearly 0 and the scores are
// mostly noise.
#include <fmt/format.h>

#include "trainer/datasets/batch_loader.hh"
#include "trainer/datasets/epoch_permutation.hh"
#include "trainer/models/loss.hh"
#include "trainer/pruning/balanced_batches.hh"
#include "trainer/pruning/criterion.hh"
#include "trainer/pruning/gradient_flow.hh"
#include "trainer/pruning/scoring.hh"

namespace thinpipe::trainer {
namespace {

struct GraspOptions {
  double temperature = 200;
  std::int64_t batches = 1;
  std::int64_t examples_per_class = 10;

  void visit(auto& field) {
    field(
        "temperature", temperature,
        Rule{.effect = "divides the logits before the loss; a large value flattens the softmax", .above = 0});
    field("batches", batches,
          Rule{.effect = "number of batches over which scores are summed", .at_least = 1});
    field("examples_per_class", examples_per_class,
          Rule{.effect = "examples of every class per batch; for text, a batch takes ten times as many "
                         "sequences",
               .at_least = 1});
  }
};

// Sequences have no class: their batches are plain, and as large as batches of ten classes.
constexpr std::int64_t sequences_per_example_of_class = 10;

// Differs from the published code in four ways:
// - it does not initialise the last layers again before scoring, which would discard trained weights;
// - it removes floor(ratio·P) weights, not one fewer, or fewer still among equals;
// - it keeps one weight of every layer;
// - it scores batches by the gradients of the prunable weights alone.
class Grasp : public PruningCriterion {
 public:
  explicit Grasp(const GraspOptions& options) : options_(options) {}

  Mask choose(Model& model, const PruningContext& context, double ratio) const override {
    const std::vector<Batch> batches = choose_batches(context);
    std::vector<torch::Tensor> importance;
    {
      const Scoring scoring(model);
      const auto loss = [&](std::int64_t batch) {
        const auto& [inputs, labels] = batches[static_cast<std::size_t>(batch)];
        return cross_entropy(model.forward(inputs) / options_.temperature, labels);
      };
      const GradientFlow flow = gradient_flow(scoring.weights(), options_.batches, loss);
      importance = removal_scores(scoring.weights(), flow);
    }
    for (torch::Tensor& score : importance) score.neg_();  // the largest scores are pruned
    return keep_most_important(model, importance, ratio, context.in_force);
  }

  bool looks_at_data() const override { return true; }

 private:
  std::vector<Batch> choose_batches(const PruningContext& context) const {
    const Examples& train = context.dataset.train();
    const auto order = epoch_permutation(train.size(), context.seed, 0);
    const auto indices =
        context.dataset.shape().is_text()
            ? plain_batches(order)
            : class_balanced_batches(train.labels, order, options_.batches, options_.examples_per_class);
    std::vector<Batch> batches;
    for (const torch::Tensor& chosen : indices) {
      batches.push_back({.inputs = context.dataset.prepare(train.inputs.index_select(0, chosen)),
                         .labels = context.dataset.prepare_labels(train.labels.index_select(0, chosen))});
    }
    return batches;
  }

  std::vector<torch::Tensor> plain_batches(const std::vector<std::int64_t>& order) const {
    const std::int64_t size = options_.examples_per_class * sequences_per_example_of_class;
    if (std::ssize(order) < options_.batches * size) {
      throw Error(
          fmt::format("grasp needs {} batches of {} sequences, but the data set has only {}; use fewer",
                      options_.batches, size, order.size()));
    }
    return torch::tensor(order, torch::kInt64).narrow(0, 0, options_.batches * size).split(size);
  }

  GraspOptions options_;
};

THINPIPE_REGISTER(Pruning){
    "grasp", "GraSP: keeps the weights whose removal would reduce the gradient's norm most",
    describe_criterion<GraspOptions>(), [](JsonObject& object) -> std::unique_ptr<PruningCriterion> {
      return std::make_unique<Grasp>(read_options<GraspOptions>(object));
    }};

}  // namespace
}  // namespace thinpipe::trainer
