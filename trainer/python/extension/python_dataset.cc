// SPDX-License-Identifier: Apache-2.0
#include "trainer/python/extension/python_dataset.hh"

#include <algorithm>
#include <map>

#include <torch/extension.h>

#include "trainer/datasets/dataset.hh"
#include "trainer/python/extension/python_call.hh"
#include "trainer/python/extension/script_entry.hh"
#include "trainer/python/extension/script_options.hh"

namespace thinpipe::trainer::python {
namespace {

std::int64_t largest(const torch::Tensor& integers) {
  return integers.max().item<std::int64_t>();
}

// Tensors in memory: images, float32 or uint8 [n, channels, height, width]; vectors, float32 [n, features]; or
// tokens, int64 [n, length], with a label each or one label per sequence.
class PythonDataset : public Dataset {
 public:
  PythonDataset(Examples train, Examples test) : train_(std::move(train)), test_(std::move(test)) {
    const torch::Tensor& inputs = train_.inputs;
    shape_.classes = 1 + std::max(largest(train_.labels), largest(test_.labels));
    if (inputs.dim() == 4) {
      shape_.channels = inputs.size(1);
      shape_.height = inputs.size(2);
      shape_.width = inputs.size(3);
    } else if (inputs.is_floating_point()) {
      shape_.features = inputs.size(1);
    } else {
      shape_.sequence_length = inputs.size(1);
      const std::int64_t tokens = 1 + std::max(largest(inputs), largest(test_.inputs));
      const bool is_text = train_.labels.dim() == 2;
      if (is_text) shape_.classes = std::max(shape_.classes, tokens);
      if (!is_text) shape_.vocabulary = tokens;
    }
  }

  DataShape shape() const override { return shape_; }
  const Examples& train() const override { return train_; }
  const Examples& test() const override { return test_; }

  torch::Tensor prepare(const torch::Tensor& inputs) const override {
    return inputs.scalar_type() == torch::kUInt8 ? inputs.to(torch::kFloat).div_(255) : inputs;
  }

 private:
  Examples train_;
  Examples test_;
  DataShape shape_;
};

}  // namespace

void host_datasets() {
  const auto describe = [](const py::object& load) {
    return py::module_::import("thinpipe.scripts")
        .attr("describe_callable")(load, std::vector<std::string>{})
        .cast<std::string>();
  };
  const auto make = [](const std::shared_ptr<SharedObject>& load, const Json& description, JsonObject& object,
                       Files files) -> std::unique_ptr<Dataset> {
    const std::string values = read_described(object, description).dump();
    if (files == Files::outlined) return nullptr;
    try {
      auto parts = in_interpreter([&] {
        return py::module_::import("thinpipe.datasets")
            .attr("make")(load->get(), values)
            .cast<std::map<std::string, std::pair<torch::Tensor, torch::Tensor>>>();
      });
      const auto examples = [&](const char* part) {
        return Examples{.inputs = parts.at(part).first, .labels = parts.at(part).second};
      };
      return std::make_unique<PythonDataset>(examples("train"), examples("test"));
    } catch (const ScriptLacks& error) {
      throw MissingData(object.place_of("name"), error.what());
    } catch (const ScriptError& error) {
      throw InputError(object.place_of("name"), error.what());
    }
  };
  host_scripts<Dataset, Files>(nullptr, describe, make);
}

}  // namespace thinpipe::trainer::python
