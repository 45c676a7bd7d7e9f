// VGG-19 without batch normalisation. The imagenet form is torchvision's vgg19. The cifar form keeps the
// sixteen convolutions. It replaces the three linear layers, made for 7x7 positions, by one linear layer on
// the mean over positions (32x32 pixels leave a single one), which keeps torchvision's name of the last
// layer, classifier.6.
// Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition (2014), table 1, E.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/models/dropout.hh"
#include "trainer/models/image_form.hh"
#include "trainer/models/initialisation.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {
namespace {

struct Vgg19Options {
  std::string form = "auto";
  std::optional<double> dropout;

  void visit(auto& field) {
    field("form", form, image_form_rule());
    field("dropout", dropout,
          Rule{.effect = "probability of dropping a unit before a linear layer (the cifar form has one); "
                         "null: 0.5 in the imagenet form, 0 in the cifar form",
               .at_least = 0,
               .below = 1});
  }
};

struct Stage {
  std::int64_t convolutions;
  std::int64_t channels;
};
constexpr std::array<Stage, 5> kStages = {{{2, 64}, {2, 128}, {4, 256}, {4, 512}, {4, 512}}};
constexpr std::int64_t kChannels = kStages.back().channels;
constexpr std::int64_t kMinSide = 1 << kStages.size();  // one pixel remains after five halvings
constexpr std::int64_t kPooledSide = 7;
constexpr std::int64_t kHidden = 4096;

torch::nn::ReLU relu_in_place() {
  return torch::nn::ReLU(torch::nn::ReLUOptions(true));
}

// Rounds up for small images of any size, so that a pixel remains; multiples of 32 need no rounding.
torch::nn::Sequential make_features(std::int64_t channels, ImageForm form) {
  torch::nn::Sequential features;
  for (const Stage& stage : kStages) {
    for (std::int64_t i = 0; i < stage.convolutions; ++i) {
      features->push_back(
          torch::nn::Conv2d(torch::nn::Conv2dOptions(channels, stage.channels, 3).padding(1)));
      features->push_back(relu_in_place());
      channels = stage.channels;
    }
    features->push_back(
        torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(2).ceil_mode(form == ImageForm::cifar)));
  }
  return features;
}

torch::nn::Sequential make_classifier(ImageForm form, double dropout, std::int64_t classes) {
  torch::nn::Sequential classifier;
  if (form == ImageForm::cifar) {
    classifier->push_back("5", SeededDropout(dropout));
    classifier->push_back("6", torch::nn::Linear(kChannels, classes));
    return classifier;
  }
  for (const std::int64_t in : {kChannels * kPooledSide * kPooledSide, kHidden}) {
    classifier->push_back(torch::nn::Linear(in, kHidden));
    classifier->push_back(relu_in_place());
    classifier->push_back(SeededDropout(dropout));
  }
  classifier->push_back(torch::nn::Linear(kHidden, classes));
  return classifier;
}

class Vgg19 : public Model {
 public:
  Vgg19(ImageForm form, double dropout, const DataShape& data)
      : pooled_side_(form == ImageForm::cifar ? 1 : kPooledSide),
        features_(register_module("features", make_features(data.channels, form))),
        classifier_(register_module("classifier", make_classifier(form, dropout, data.classes))) {
    initialise_convolutions(*this);
    classifier_->apply([](torch::nn::Module& module) {
      if (auto* layer = module.as<torch::nn::Linear>()) {
        torch::nn::init::normal_(layer->weight, 0, 0.01);
        torch::nn::init::zeros_(layer->bias);
      }
    });
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    const torch::Tensor x = features_->forward(images);
    return classifier_->forward(torch::adaptive_avg_pool2d(x, {pooled_side_, pooled_side_}).flatten(1));
  }
  std::string head() const override { return "classifier.6"; }

 private:
  std::int64_t pooled_side_;
  torch::nn::Sequential features_;
  torch::nn::Sequential classifier_;
};

std::unique_ptr<Model> make_vgg19(JsonObject& object, const DataShape& data) {
  expect_images(object, data);
  const auto options = read_options<Vgg19Options>(object);
  const ImageForm form = choose_image_form(options.form, data);
  if (form == ImageForm::imagenet && std::min(data.height, data.width) < kMinSide) {
    throw InputError(
        object.place_of("form"),
        fmt::format("the imagenet form halves an image's sides five times and needs at least {} pixels, but "
                    "the data set's images are {} x {}; the form cifar takes any size",
                    kMinSide, data.height, data.width));
  }
  return std::make_unique<Vgg19>(form, options.dropout.value_or(form == ImageForm::cifar ? 0 : 0.5), data);
}

THINPIPE_REGISTER(Model){"vgg19",
                         "VGG-19 without batch normalisation: torchvision's, or its form for small images",
                         describe_options<Vgg19Options>(), make_vgg19};

}  // namespace
}  // namespace thinpipe::trainer
