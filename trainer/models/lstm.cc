// SPDX-License-Identifier: Apache-2.0
// Language models of an embedding, layers of long short-term memory and a linear layer. Parameters have the names of
// PyTorch's example word_language_model. Zaremba, Sutskever, Vinyals: Recurrent Neural Network Regularization (2014).
#include <cmath>

#include "common/support/options.hh"
#include "trainer/models/layers/recurrent.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {
namespace {

struct LstmOptions {
  std::int64_t embedding = 0;
  std::int64_t width = 0;
  std::int64_t depth = 2;
  double dropout = 0;
  bool tied_head = false;

  void visit(auto& field) {
    field("embedding", embedding, Rule{.effect = "numbers per token", .at_least = 1, .at_most = 8192});
    field("width", width, Rule{.effect = "units of each layer", .at_least = 1, .at_most = 8192});
    field("depth", depth, Rule{.effect = "recurrent layers", .at_least = 1, .at_most = 16});
    field("dropout", dropout,
          Rule{.effect = "probability of dropping a unit before, between and after the recurrent layers",
               .at_least = 0,
               .below = 1});
    field(
        "tied_head", tied_head,
        Rule{
            .effect =
                "if true, the output layer shares the embedding's weights and has no bias; needs an embedding "
                "as large as width"});
  }
};

struct CharLstmOptions : LstmOptions {
  CharLstmOptions() : LstmOptions{.embedding = 200, .width = 200} {}
};

// Zaremba's medium size.
struct WordLstmOptions : LstmOptions {
  WordLstmOptions() : LstmOptions{.embedding = 650, .width = 650, .dropout = 0.5} {}
};

class LstmLanguageModel : public Model {
 public:
  LstmLanguageModel(const LstmOptions& options, const DataShape& data)
      : dropout_(register_module("drop", SeededDropout(options.dropout))),
        encoder_(register_module("encoder", torch::nn::Embedding(data.classes, options.embedding))),
        rnn_(register_module("rnn",
                             Recurrent(options.embedding, options.width, options.depth, options.dropout))) {
    torch::nn::init::uniform_(encoder_->weight, -0.1, 0.1);
    if (options.tied_head) return;
    decoder_ = register_module("decoder", torch::nn::Linear(options.width, data.classes));
    torch::nn::init::uniform_(decoder_->weight, -0.1, 0.1);
    torch::nn::init::zeros_(decoder_->bias);
  }

  // tokens: int64 [n, length].
  torch::Tensor forward(const torch::Tensor& tokens) override {
    const torch::Tensor x = dropout_(rnn_(dropout_(encoder_(tokens))));
    return decoder_ ? decoder_(x) : torch::linear(x, encoder_->weight);
  }

  std::string head() const override { return decoder_ ? "decoder" : "encoder"; }

 private:
  SeededDropout dropout_;
  torch::nn::Embedding encoder_;
  Recurrent rnn_;
  torch::nn::Linear decoder_{nullptr};
};

template <class Options>
std::unique_ptr<Model> make_lstm(JsonObject& object, const DataShape& data) {
  const LstmOptions options = read_options<Options>(object);
  expect_text(object, data);
  if (options.tied_head && options.embedding != options.width)
    throw InputError(object.place_of("tied_head"), "needs an embedding as large as width");
  return std::make_unique<LstmLanguageModel>(options, data);
}

THINPIPE_REGISTER(Model){"char_lstm", "two recurrent layers of 200 units, for characters or bytes",
                         describe_options<CharLstmOptions>(), make_lstm<CharLstmOptions>};
THINPIPE_REGISTER(Model){"word_lstm", "two recurrent layers of 650 units, for words",
                         describe_options<WordLstmOptions>(), make_lstm<WordLstmOptions>};

}  // namespace
}  // namespace thinpipe::trainer
