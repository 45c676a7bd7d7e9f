#include <fmt/format.h>

#include "harness/support/options.hh"
#include "trainer/synchronisers/error_feedback.hh"

namespace thinpipe::trainer {
namespace {

struct EfOptions {
  Json inner = {{"name", "scaled_sign"}};
  std::string units = "gradient";

  void visit(auto& field) {
    field("inner", inner, Rule{.effect = "the method whose losses are made up for, with options of its own"});
    field("units", units,
          Rule{.effect = "what is held back is measured in: gradient, so that it shrinks with the learning "
                         "rate like any gradient, or update, as in EF-SGD's paper",
               .one_of = {"gradient", "update"}});
  }
};

std::unique_ptr<Compressor> make_inner(const Json& inner, const Place& place,
                                       const SynchroniserContext& context) {
  std::unique_ptr<Synchroniser> made = SynchroniserRegistry::instance().make(inner, place, context);
  auto* compressor = dynamic_cast<Compressor*>(made.get());
  if (compressor == nullptr) {
    throw InputError(
        place / "name",
        fmt::format(
            "{} cannot be put inside ef, because it does not tell what its own message leaves out, or "
            "makes up for that itself; a compressor can, such as \"scaled_sign\" or \"qsgd\"",
            inner.at("name").dump()));
  }
  static_cast<void>(made.release());
  return std::unique_ptr<Compressor>(compressor);
}

// Error feedback (error_feedback.hh) around any compressor; with scaled_sign EF-signSGD. e stays bounded
// where C is a contraction, ‖C(p) - p‖² <= (1 - δ)·‖p‖², as scaled_sign is, or qsgd with levels enough for
// its blocks. terngrad is none: its draws err by up to its scale, which grows with what they leave, and so
// on. The paper measures e in updates, p = η·g + e and w -= mean Δ; published code does so with the η it was
// made with, and does not divide by N. One way: the mean is not compressed a second time, as dist-EF-SGD does
// it. Karimireddy et al., Error Feedback Fixes SignSGD (ICML 2019).
//
// State: e, float32 [n], and what the compressor keeps. Payload: the compressor's.
const Registration<Synchroniser, const SynchroniserContext&> ef_registration{
    "ef", "error feedback around a method that compresses: what a message leaves out goes into the next one",
    describe_options<EfOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      const auto options = read_options<EfOptions>(object);
      return std::make_unique<ErrorFeedback>(
          make_inner(options.inner, object.place_of("inner"), context),
          options.units == "update" ? ResidualUnits::update : ResidualUnits::gradient, context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
