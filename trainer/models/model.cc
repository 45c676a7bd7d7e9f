// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/model.hh"

#include <fmt/format.h>

namespace thinpipe::trainer {

namespace {

void refuse_sequences(const JsonObject& model, const DataShape& data, const char* classified) {
  if (data.is_text()) {
    throw InputError(
        model.place(),
        fmt::format("classifies {}, but the data set is text; use the model gpt, or another data set",
                    classified));
  }
  if (data.has_sequences_with_a_class()) {
    throw InputError(model.place(), fmt::format("classifies {}, but the data set has sequences of tokens "
                                                "with one label each, which no model of these reads",
                                                classified));
  }
}

}  // namespace

void expect_images(const JsonObject& model, const DataShape& data) {
  refuse_sequences(model, data, "images");
  if (!data.has_vectors()) return;
  throw InputError(
      model.place(),
      fmt::format("classifies images, but the data set has vectors of {} features; use the model "
                  "mlp, or another data set",
                  data.features));
}

void expect_images_or_vectors(const JsonObject& model, const DataShape& data) {
  refuse_sequences(model, data, "images or vectors");
}

void expect_text(const JsonObject& model, const DataShape& data) {
  if (data.is_text()) return;
  if (data.has_vectors() || data.has_sequences_with_a_class()) {
    throw InputError(model.place(),
                     "reads text whose tokens have a label each, but each example of the data set has one "
                     "label; use another model, or a data set of text");
  }
  throw InputError(
      model.place(),
      "reads text, but the data set has images; use the model small_cnn, resnet18 or vit_tiny, or a data set "
      "of text");
}

}  // namespace thinpipe::trainer
