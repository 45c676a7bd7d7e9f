// SPDX-License-Identifier: Apache-2.0
// Linear layers with ReLU between them.
#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/models/layers/filtered_layers.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {
namespace {

struct MlpOptions {
  std::vector<std::int64_t> hidden = {256, 128};

  void visit(auto& field) {
    field("hidden", hidden,
          Rule{.effect = "units of each hidden layer; an empty list gives softmax regression",
               .at_least = 1,
               .at_most = 65536});
  }
};

class Mlp : public Model {
 public:
  Mlp(const MlpOptions& options, const DataShape& data) {
    std::int64_t in = data.has_vectors() ? data.features : data.channels * data.height * data.width;
    for (const std::int64_t units : options.hidden) {
      add_layer(in, units);
      in = units;
    }
    add_layer(in, data.classes);
  }

  torch::Tensor forward(const torch::Tensor& inputs) override {
    torch::Tensor x = inputs.flatten(1);
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) x = torch::relu(layers_[i](x));
    return layers_.back()(x);
  }
  std::string head() const override { return fmt::format("fc{}", layers_.size()); }

 private:
  void add_layer(std::int64_t in, std::int64_t out) {
    const std::string name = fmt::format("fc{}", layers_.size() + 1);
    layers_.push_back(register_module(name, FilteredLinear(in, out)));
  }

  std::vector<FilteredLinear> layers_;
};

THINPIPE_REGISTER(Model){"mlp", "linear layers with ReLU between them", describe_options<MlpOptions>(),
                         [](JsonObject& object, const DataShape& data) -> std::unique_ptr<Model> {
                           expect_images_or_vectors(object, data);
                           return std::make_unique<Mlp>(read_options<MlpOptions>(object), data);
                         }};

}  // namespace
}  // namespace thinpipe::trainer
