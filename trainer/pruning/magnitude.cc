// Global magnitude pruning: the weights of smallest |w| over all layers together go.
// Han, Pool, Tran, Dally: Learning both Weights and Connections for Efficient Neural Networks (2015), ranked
// globally.
#include "harness/support/options.hh"
#include "trainer/pruning/criterion.hh"

namespace thinpipe::trainer {
namespace {

struct MagnitudeOptions {
  double ratio = 0;

  void visit(auto& field) {
    field("ratio", ratio,
          Rule{.effect = "fraction of the prunable weights to remove", .at_least = 0, .below = 1});
  }
};

class Magnitude : public PruningCriterion {
 public:
  explicit Magnitude(const MagnitudeOptions& options) : options_(options) {}

  Mask choose(Model& model, const PruningContext& /*context*/) const override {
    std::vector<torch::Tensor> importance;
    for (const auto& [name, weight] : prunable_weights(model)) importance.push_back(weight.detach().abs());
    return keep_most_important(model, importance, options_.ratio);
  }

 private:
  MagnitudeOptions options_;
};

const Registration<PruningCriterion> registration{
    "magnitude", "removes the weights of smallest magnitude, ranked over all layers together",
    describe_options<MagnitudeOptions>(), [](JsonObject& object) -> std::unique_ptr<PruningCriterion> {
      return std::make_unique<Magnitude>(read_options<MagnitudeOptions>(object));
    }};

}  // namespace
}  // namespace thinpipe::trainer
