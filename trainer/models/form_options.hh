// SPDX-License-Identifier: Apache-2.0
// The options of models with a form for photographs and one for small images, and with dropout before their linear layers.
#pragma once

#include <optional>
#include <string>

#include "common/support/options.hh"
#include "trainer/models/image_form.hh"

namespace thinpipe::trainer {

struct FormOptions {
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

  double dropout_in(ImageForm chosen) const { return dropout.value_or(chosen == ImageForm::cifar ? 0 : 0.5); }
};

}  // namespace thinpipe::trainer
