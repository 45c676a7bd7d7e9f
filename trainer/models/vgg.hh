// VGG without batch normalisation. The imagenet form is torchvision's. The cifar form keeps the convolutions. It
// replaces the three linear layers, made for 7x7 positions, by one linear layer on the mean over positions (32x32
// pixels leave a single one), which keeps torchvision's name of the last layer, classifier.6.
// Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition (2014), table 1.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "common/support/options.hh"
#include "trainer/models/image_form.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {

struct VggOptions {
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

// The numbers of 3x3 convolutions before each of the five halvings.
using VggConvolutions = std::array<std::int64_t, 5>;

// object: VggOptions.
std::unique_ptr<Model> make_vgg(const VggConvolutions& convolutions, JsonObject& object,
                                const DataShape& data);

}  // namespace thinpipe::trainer
