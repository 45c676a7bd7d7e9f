#include "trainer/models/model.hh"

namespace thinpipe::trainer {

void expect_images(const JsonObject& model, const DataShape& data) {
  if (!data.is_text()) return;
  throw InputError(model.place(),
                   "classifies images, but the data set is text; use the model gpt, or another data set");
}

void expect_text(const JsonObject& model, const DataShape& data) {
  if (data.is_text()) return;
  throw InputError(
      model.place(),
      "reads text, but the data set has images; use the model small_cnn, resnet18 or vit_tiny, or a data set "
      "of text");
}

}  // namespace thinpipe::trainer
