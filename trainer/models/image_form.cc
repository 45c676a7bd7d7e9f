// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/image_form.hh"

#include <algorithm>

namespace thinpipe::trainer {

Rule image_form_rule() {
  return {
      .effect = "imagenet: as published; cifar: for small images; auto: cifar if a side is below 64 pixels",
      .one_of = {"auto", "cifar", "imagenet"}};
}

ImageForm choose_image_form(const std::string& form, const DataShape& data) {
  const bool small = form == "auto" ? std::min(data.height, data.width) < 64 : form == "cifar";
  return small ? ImageForm::cifar : ImageForm::imagenet;
}

}  // namespace thinpipe::trainer
