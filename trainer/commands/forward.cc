// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/forward.hh"

#include <iostream>

#include <fmt/format.h>

#include "trainer/models/model.hh"
#include "trainer/tensors/tensor_file.hh"
#include "trainer/tensors/weights.hh"

namespace thinpipe::trainer {
namespace {

DataShape read_shape(const Json& value, const Place& place) {
  JsonObject object(value, place);
  const Rule positive{.at_least = 1, .required = true};
  DataShape shape;
  object.read("classes", shape.classes, positive);
  if (const Json* length = object.find("sequence_length")) {
    read_value(*length, object.place_of("sequence_length"), positive, shape.sequence_length);
  } else {
    object.read("channels", shape.channels, positive);
    object.read("height", shape.height, positive);
    object.read("width", shape.width, positive);
  }
  object.finish();
  return shape;
}

torch::Tensor load_inputs(const std::string& path, const DataShape& shape) {
  const TensorMap tensors = load_tensors(path);
  const auto found = tensors.find("inputs");
  const std::int64_t count = found != tensors.end() && found->second.dim() > 0 ? found->second.size(0) : 1;
  const torch::Tensor like =
      shape.is_text() ? torch::empty({}, torch::kLong).expand({count, shape.sequence_length})
                      : torch::empty({}).expand({count, shape.channels, shape.height, shape.width});
  torch::Tensor inputs = expect_tensor(tensors, "inputs", like, path);
  if (shape.is_text() && (inputs.lt(0) | inputs.ge(shape.classes)).any().item<bool>()) {
    throw Error(fmt::format("tensor \"inputs\" of {} has a token outside 0..{}", path, shape.classes - 1));
  }
  return inputs;
}

}  // namespace

void forward(const std::string& path) {
  const torch::NoGradGuard no_grad;
  const Json json = parse_json_file(path);
  JsonObject object(json, {path, ""});
  std::int64_t schema_version = 0;
  std::string weights;
  std::string inputs;
  std::string output;
  object.read("schema_version", schema_version, {.at_least = 1, .at_most = 1, .required = true});
  object.read("weights", weights, {.required = true});
  object.read("inputs", inputs, {.required = true});
  object.read("output", output, {.required = true});
  const DataShape shape = read_shape(object.get("shape"), object.place_of("shape"));
  // A shared_ptr, which LibTorch requires for modules.
  const std::shared_ptr<Model> model =
      ModelRegistry::instance().make(object.get("model"), object.place_of("model"), shape);
  object.finish();
  const torch::Tensor loaded_inputs = load_inputs(inputs, shape);
  for (const std::string& note : load_weights(*model, load_tensors(weights), weights)) {
    std::cerr << note << '\n';
  }
  model->eval();
  save_tensors({{"logits", model->forward(loaded_inputs)}}, output);
}

}  // namespace thinpipe::trainer
