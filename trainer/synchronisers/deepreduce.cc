#include "harness/support/options.hh"
#include "trainer/synchronisers/sparse/deepreduce_code.hh"
#include "trainer/synchronisers/sparse/place_code.hh"
#include "trainer/synchronisers/sparse/sparsifier.hh"
#include "trainer/synchronisers/sparse/value_code.hh"

namespace thinpipe::trainer {
namespace {

// DeepReduce is no method of its own but another way for a sparsifier's messages to be written: r of n
// entries as
//   places: a Bloom filter of m = ⌈r·log2(1/ε)/ln 2⌉ bits and ⌈log2(1/ε)⌉ hashes. P0 sends the value of each
//     positive, |P| ≈ r + ε(n - r); P1 and P2 of r of them (bloom_choice.hh), the same here and there because
//     both draw from the sender's stream. Or a list of them.
//   values: float32, 7 bits of QSGD, or polynomials along the sorted curve
// Kostopoulou et al., DeepReduce: A Sparse-tensor Communication Framework for Federated Deep Learning
// (NeurIPS 2021). What the sparsifier holds back is what was not decoded from its own message, not what it
// did not choose. The inner method's option `indices` then says nothing.
//
// Curves cut at knots for as long as a piece has more points than coefficients would take as many numbers as
// there were; ours are cut 7 times at most on each side of zero, 28 bytes a piece. The paper's rule for
// lines, ⌈2√M⌉ pieces where the first and the last step of the curve differ by M, would make one or two; its
// code has fixed pieces. A level of QSGD has 7 bits with its sign. The paper's other curve is missing:
// Fit-DExp, y = a·e^(bx) + c·e^(dx), a fit that has no closed form. State: the inner method's. Each worker
// contributes 21 + m/8 + 4|P| bytes with P0 in float32, less with others; for n <= 1000 as topk.
struct DeepReduceOptions {
  Json inner = Json::object();
  std::string indices = "bloom_p0";
  std::string values = "f32";
  double false_positive_rate = 0.001;

  void visit(auto& field) {
    field("inner", inner, Rule{.effect = "the sparsifier whose messages are written so", .required = true});
    field(
        "indices", indices,
        Rule{.effect =
                 "how places are written: a Bloom filter, with the values of all that it takes for members "
                 "(bloom_p0), of some at random (bloom_p1) or of the likeliest (bloom_p2); or a list (plain)",
             .one_of = place_code_names()});
    field(
        "values", values,
        Rule{.effect =
                 "how values are written: f32; qsgd, 7 bits each; fit_poly, as polynomials along the sorted "
                 "curve",
             .one_of = value_code_names()});
    field("false_positive_rate", false_positive_rate,
          Rule{.effect = "fraction of the other entries that a Bloom filter takes for members",
               .above = 0,
               .below = 1});
  }
};

THINPIPE_REGISTER(Synchroniser){
    "deepreduce", "a sparsifier's messages with Bloom filters for places and fitted curves for values",
    describe_options<DeepReduceOptions>(),
    [](JsonObject& object, const SynchroniserContext& context) -> std::unique_ptr<Synchroniser> {
      const auto options = read_options<DeepReduceOptions>(object);
      if (options.indices == "plain" && options.values == "f32") {
        throw InputError(object.place_of("indices"),
                         "plain indices and f32 values are what sparsifiers send anyway");
      }
      std::unique_ptr<Synchroniser> inner =
          SynchroniserRegistry::instance().make(options.inner, object.place_of("inner"), context);
      auto* const sparsifier = dynamic_cast<Sparsifier*>(inner.get());
      // Not a code within a code either: the outer one would replace the inner one unnoticed.
      if (sparsifier == nullptr || options.inner.at("name") == "deepreduce") {
        throw InputError(object.place_of("inner") / "name",
                         "must be a method that sends entries with their places, such as topk or dgc");
      }
      sparsifier->use_code(make_deepreduce_code({.places = options.indices,
                                                 .values = options.values,
                                                 .false_positive_rate = options.false_positive_rate,
                                                 .seed = context.seed}));
      return inner;
    }};

}  // namespace
}  // namespace thinpipe::trainer
