#include "trainer/models/model.hh"

namespace thinpipe::trainer {

void expect_images(const JsonObject& model, const DataShape& data) {
  if (!data.is_text()) return;
  throw InputError(model.place(),
                   "classifies images, but the data set is text; take the model gpt, or another data set");
}

}  // namespace thinpipe::trainer
