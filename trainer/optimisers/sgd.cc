// SPDX-License-Identifier: Apache-2.0
#include "common/support/options.hh"
#include "trainer/optimisers/optimiser.hh"

namespace thinpipe::trainer {
namespace {

struct SgdOptions {
  double learning_rate = 0.05;
  double momentum = 0.9;
  double weight_decay = 5e-4;
  bool nesterov = false;

  void visit(auto& field) {
    field("learning_rate", learning_rate, Rule{.effect = "step size", .above = 0});
    field("momentum", momentum,
          Rule{.effect = "share of the previous step that is kept", .at_least = 0, .below = 1});
    field("weight_decay", weight_decay,
          Rule{.effect = "weight decay: this times the weight is added to the gradient", .at_least = 0});
    field("nesterov", nesterov, Rule{.effect = "use Nesterov momentum; needs momentum above 0"});
  }
};

THINPIPE_REGISTER(Optimiser){"sgd", "stochastic gradient descent with momentum and weight decay",
                             describe_options<SgdOptions>(),
                             [](JsonObject& object, const OptimisedParameters& parameters) {
                               const auto options = read_options<SgdOptions>(object);
                               if (options.nesterov && options.momentum == 0) {
                                 throw InputError(object.place_of("nesterov"), "needs momentum above 0");
                               }
                               return std::make_unique<torch::optim::SGD>(
                                   parameters.all, torch::optim::SGDOptions(options.learning_rate)
                                                       .momentum(options.momentum)
                                                       .weight_decay(options.weight_decay)
                                                       .nesterov(options.nesterov));
                             }};

}  // namespace
}  // namespace thinpipe::trainer
