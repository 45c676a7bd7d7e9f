// SPDX-License-Identifier: Apache-2.0
#include "common/support/options.hh"
#include "trainer/synchronisers/error_feedback.hh"

namespace thinpipe::trainer {
namespace {

struct EfOptions {
  Json inner = {{"name", "scaled_sign"}};
  std::string units = "gradient";

  void visit(auto& field) {
    field("inner", inner, Rule{.effect = "the compressor to correct, with its options"});
    field("units", units,
          Rule{.effect = "units of the residual: gradient, so that it shrinks with the learning rate like "
                         "any gradient, or update, as in the EF-SGD paper",
               .one_of = {"gradient", "update"}});
  }
};

THINPIPE_REGISTER(Synchroniser){
    "ef", "error feedback around a compressor: each message's error is added to the next gradient",
    describe_options<EfOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      const auto options = read_options<EfOptions>(object);
      return std::make_unique<ErrorFeedback>(
          make_compressor(options.inner, object.place_of("inner"), context),
          options.units == "update" ? ResidualUnits::update : ResidualUnits::gradient, context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
