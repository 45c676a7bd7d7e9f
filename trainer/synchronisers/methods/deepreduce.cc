// SPDX-License-Identifier: Apache-2.0
#include "common/support/options.hh"
#include "trainer/synchronisers/deepreduce/deepreduce_code.hh"
#include "trainer/synchronisers/deepreduce/deepreduce_index_code.hh"
#include "trainer/synchronisers/deepreduce/value_code.hh"
#include "trainer/synchronisers/sparse/sparsifier.hh"

namespace thinpipe::trainer {
namespace {

// DeepReduce is not a method of its own but another encoding for a sparsifier's messages. It encodes r of n
// entries as
//   indices: a Bloom filter of m = ⌈r·log2(1/ε)/ln 2⌉ bits and ⌈log2(1/ε)⌉ hashes. P0 sends the values of
//     all positives, |P| ≈ r + ε(n - r). P1 and P2 send those of r positives (bloom_choice.hh), which sender
//     and receiver choose alike because both draw from the sender's stream. Alternatively, without loss: a list,
//     the bitmap's run lengths, or the gaps in a Huffman code.
//   values: float32, the same compressed by deflate, QSGD with 7 bits, or along the sorted curve polynomials or,
//     on each side of zero, two exponentials: y = a·e^(bx) + c·e^(dx), x from 0 to 1
// Kostopoulou et al., DeepReduce: A Sparse-tensor Communication Framework for Federated Deep Learning
// (NeurIPS 2021). The sparsifier's residual is the error of its own decoded message, not the entries that it
// did not choose. The inner method's option `indices` has no effect.
//
// Curves are split at no more than 7 knots on each side of zero, with 28 bytes per piece. Splitting while a
// piece has more points than coefficients would send as many numbers as there are values. The paper's rule
// for lines would give one or two pieces: ⌈2√M⌉ if the first and the last step of the curve differ by M. Its
// code has fixed pieces. QSGD's 7 bits include the sign. The two exponentials (Fit-DExp) are fitted by an
// integral equation (exponential_fit.hh), as there is no closed form. A few values that lie off the curve, such
// as those of P0's false positives, then have large errors, which the residual keeps. The layouts of run lengths
// and gaps (run_length_indices.hh, huffman_indices.hh) are our choice.
//
// State: the inner method's. Each worker contributes 21 + m/8 + 4|P| bytes with P0 in float32, and fewer with
// the others; for n <= 1000, the same as topk.
struct DeepReduceOptions {
  Json inner = Json::object();
  std::string indices = "bloom_p0";
  std::string values = "f32";
  double false_positive_rate = 0.001;

  void visit(auto& field) {
    field("inner", inner, Rule{.effect = "the sparsifier whose messages are encoded", .required = true});
    field(
        "indices", indices,
        Rule{
            .effect =
                "how indices are encoded: a Bloom filter, with the values of all its positives (bloom_p0), "
                "of random positives (bloom_p1) or of the likeliest ones (bloom_p2); a list (plain); the lengths "
                "of the bitmap's runs (run_length); or the gaps in a Huffman code (huffman)",
            .one_of = deepreduce_index_code_names()});
    field(
        "values", values,
        Rule{.effect =
                 "how values are encoded: f32; deflate, the same compressed without loss; qsgd, 7 bits "
                 "each; fit_poly, polynomials along the sorted curve; fit_dexp, two exponentials along each "
                 "side of it",
             .one_of = value_code_names()});
    field("false_positive_rate", false_positive_rate,
          Rule{.effect = "the Bloom filter's false-positive rate", .above = 0, .below = 1});
  }
};

THINPIPE_REGISTER(Synchroniser){
    "deepreduce", "a sparsifier's messages with Bloom filters for indices and fitted curves for values",
    describe_options<DeepReduceOptions>(),
    [](JsonObject& object, const SynchroniserContext& context) -> std::unique_ptr<Synchroniser> {
      const auto options = read_options<DeepReduceOptions>(object);
      if (options.indices == "plain" && options.values == "f32") {
        throw InputError(object.place_of("indices"),
                         "sparsifiers already send plain indices and f32 values; choose another "
                         "code for one");
      }
      if (!options.indices.starts_with("bloom") &&
          options.false_positive_rate != DeepReduceOptions{}.false_positive_rate) {
        throw InputError(
            object.place_of("false_positive_rate"),
            "has an effect only with \"indices\": \"bloom_p0\" and the other Bloom filters; remove it");
      }
      std::unique_ptr<Synchroniser> inner =
          SynchroniserRegistry::instance().make(options.inner, object.place_of("inner"), context);
      auto* const sparsifier = dynamic_cast<Sparsifier*>(inner.get());
      // No code inside another: the outer code would silently replace the inner one.
      if (sparsifier == nullptr || options.inner.at("name") == "deepreduce") {
        throw InputError(object.place_of("inner") / "name",
                         "must be a method that sends entries with their indices, such as topk or dgc");
      }
      sparsifier->use_code(make_deepreduce_code({.indices = options.indices,
                                                 .values = options.values,
                                                 .false_positive_rate = options.false_positive_rate,
                                                 .seed = context.seed}));
      return inner;
    }};

}  // namespace
}  // namespace thinpipe::trainer
