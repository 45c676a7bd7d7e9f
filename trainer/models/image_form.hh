// The option "form" of models that were made for photographs and are also trained on small images.
#pragma once

#include "harness/support/json_object.hh"
#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

// imagenet: as published. cifar: without the early reductions that leave nothing of a small image; the same
// names of parameters.
enum class ImageForm { cifar, imagenet };

Rule image_form_rule();

// form: as the rule lets it be; "auto" gives cifar when a side is below 64.
ImageForm choose_image_form(const std::string& form, const DataShape& data);

}  // namespace thinpipe::trainer
