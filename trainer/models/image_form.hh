// SPDX-License-Identifier: Apache-2.0
// The option "form" of models that were designed for photographs but are also trained on small images.
#pragma once

#include "common/support/json_object.hh"
#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

// imagenet: as published. cifar: without the early reductions, which would shrink a small image to nothing;
// the parameters keep their names.
enum class ImageForm { cifar, imagenet };

Rule image_form_rule();

// form: a value that the rule allows; "auto" chooses cifar if a side is below 64 pixels.
ImageForm choose_image_form(const std::string& form, const DataShape& data);

}  // namespace thinpipe::trainer
