// SPDX-License-Identifier: Apache-2.0
#include "trainer/python/extension/python_model.hh"

#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/extension.h>

#include "trainer/models/foreign_module.hh"
#include "trainer/models/layers/dropout.hh"
#include "trainer/models/model.hh"
#include "trainer/python/extension/python_call.hh"
#include "trainer/python/extension/script_entry.hh"
#include "trainer/python/extension/script_options.hh"

namespace thinpipe::trainer::python {
namespace {

// Passes the state of one worker's random numbers to Python.
class DrawsImpl : public SeededDropoutImpl {
 public:
  DrawsImpl() : SeededDropoutImpl(0) {}

  // Seeds torch's global generator, from which Python's dropout draws. Does nothing before draw_from().
  void seed_global_generator() {
    if (!generator_.defined()) return;
    const auto one = torch::TensorOptions(generator_.device()).dtype(torch::kInt64);
    torch::manual_seed(
        static_cast<std::uint64_t>(torch::empty({1}, one).random_(generator_).item<std::int64_t>()));
  }
};

// One module of the Python model: parameters, buffers and the training mode are those of `module`. train() sets
// the mode only; the user's own train() is the whole model's matter.
class MirroredModule : public ForeignModule {
 public:
  MirroredModule(Kind kind, py::object module) : ForeignModule(kind), module_(std::move(module)) {}

  void train(bool on) override {
    ForeignModule::train(on);
    in_interpreter([&] { module_.get().attr("training") = on; });
  }

  // Hold the interpreter's lock.
  bool module_is_training() const { return module_.get().attr("training").cast<bool>(); }

 private:
  SharedObject module_;
};

ForeignModule::Kind kind_of(const py::handle& module) {
  const auto text = py::module_::import("thinpipe.models").attr("kind")(module).cast<std::string>();
  if (text == "linear_or_convolution") return ForeignModule::Kind::linear_or_convolution;
  if (text == "attention") return ForeignModule::Kind::attention;
  if (text == "batch_normalisation") return ForeignModule::Kind::batch_normalisation;
  return ForeignModule::Kind::other;
}

class PythonModel : public Model {
 public:
  // Hold the interpreter's lock.
  explicit PythonModel(py::object model) : model_(std::move(model)) {
    mirror(*this, model_.get(), "");
    head_ = py::module_::import("thinpipe.models").attr("head")(model_.get()).cast<std::string>();
    register_module("thinpipe_draws", draws_);
  }

  std::string head() const override { return head_; }

  const py::object& module() const { return model_.get(); }
  void seed_draws() { draws_->seed_global_generator(); }

  // Calls the user's train(), which may leave parts of the model in another mode.
  void train(bool on) override {
    const std::vector<bool> modes = in_interpreter([&] {
      model_.get().attr("train")(on);
      std::vector<bool> out;
      for (const auto& module : mirrored_) out.push_back(module->module_is_training());
      return out;
    });
    Model::train(on);
    // A module's train() reaches the modules inside it, which come after it.
    for (std::size_t i = 0; i < modes.size(); ++i) {
      if (mirrored_[i]->is_training() != modes[i]) mirrored_[i]->train(modes[i]);
    }
  }

  torch::Tensor forward(const torch::Tensor& inputs) override {
    if (!is_training()) return call(inputs);
    // Workers may be threads that share torch's global generator.
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    draws_->seed_global_generator();
    return call(inputs);
  }

 private:
  // Registers the parameters, buffers and modules of `module` under their names, in their order. A parameter
  // that two modules share counts once, as in Module.named_parameters().
  void mirror(torch::nn::Module& mirrored, const py::handle& module, const std::string& place) {
    for (const auto& [name, parameter] : own(module, "_parameters")) {
      if (is_new(parameter)) mirrored.register_parameter(name, parameter);
    }
    for (const auto& [name, buffer] : own(module, "_buffers")) mirrored.register_buffer(name, buffer);
    for (const auto& [key, child] : module.attr("_modules").cast<py::dict>()) {
      if (child.is_none()) continue;
      const auto name = key.cast<std::string>();
      auto made = std::make_shared<MirroredModule>(kind_of(child), py::reinterpret_borrow<py::object>(child));
      mirrored_.push_back(made);
      const std::string inner = place.empty() ? name : place + "." + name;
      mirror(*made, child, inner);
      const char* const prunable = made->prunable();
      if (prunable != nullptr && !child.attr(prunable).is_none()) {
        made->weight = child.attr(prunable).cast<torch::Tensor>();
        weights_.push_back({inner + "." + prunable, made->weight, made});
      }
      mirrored.register_module(name, made);
    }
  }

  static std::vector<std::pair<std::string, torch::Tensor>> own(const py::handle& module,
                                                                const char* members) {
    std::vector<std::pair<std::string, torch::Tensor>> out;
    for (const auto& [name, tensor] : module.attr(members).cast<py::dict>()) {
      if (!tensor.is_none()) out.emplace_back(name.cast<std::string>(), tensor.cast<torch::Tensor>());
    }
    return out;
  }

  bool is_new(const torch::Tensor& parameter) {
    return known_.insert(parameter.unsafeGetTensorImpl()).second;
  }

  torch::Tensor call(const torch::Tensor& inputs) const {
    std::map<std::string, torch::Tensor> replaced;
    for (const Weight& weight : weights_) {
      if (!weight.module->weight.is_same(weight.original)) replaced[weight.name] = weight.module->weight;
    }
    return in_interpreter([&] {
      return py::module_::import("thinpipe.models")
          .attr("forward")(model_.get(), replaced, inputs)
          .cast<torch::Tensor>();
    });
  }

  struct Weight {
    std::string name;
    torch::Tensor original;
    std::shared_ptr<ForeignModule> module;
  };

  SharedObject model_;
  std::string head_;
  std::set<void*> known_;
  std::vector<Weight> weights_;
  std::vector<std::shared_ptr<MirroredModule>> mirrored_;  // each before those inside it
  std::shared_ptr<DrawsImpl> draws_ = std::make_shared<DrawsImpl>();
};

// Returns two examples of that shape.
torch::Tensor example_inputs(const DataShape& data) {
  if (data.sequence_length > 0) return torch::zeros({2, data.sequence_length}, torch::kInt64);
  if (data.has_vectors()) return torch::zeros({2, data.features});
  return torch::zeros({2, data.channels, data.height, data.width});
}

// Throws InputError unless two examples of that shape have the logits that a Model must return.
void check_logits(Model& model, const DataShape& data, const Place& place) {
  const torch::NoGradGuard no_grad;
  model.eval();
  const torch::Tensor inputs = example_inputs(data);
  std::vector<std::int64_t> expected = {2, data.classes};
  if (data.is_text()) expected.insert(expected.begin() + 1, data.sequence_length);
  torch::Tensor logits;
  try {
    logits = model.forward(inputs);
  } catch (const ScriptError& error) {
    throw InputError(place, fmt::format("cannot compute with inputs of the shape {}: {}",
                                        inputs.sizes().vec(), error.what()));
  }
  if (logits.sizes().vec() != expected || logits.scalar_type() != torch::kFloat) {
    throw InputError(
        place, fmt::format("must return logits float32 {} for inputs {}, but returns {} {}", expected,
                           inputs.sizes().vec(), c10::toString(logits.scalar_type()), logits.sizes().vec()));
  }
  model.train();
}

}  // namespace

void host_models() {
  const auto describe = [](const py::object& model) {
    return py::module_::import("thinpipe.scripts")
        .attr("describe_callable")(model, std::vector<std::string>{"data"})
        .cast<std::string>();
  };
  const auto make = [](const std::shared_ptr<SharedObject>& model, const Json& description,
                       JsonObject& object, const DataShape& data) -> std::unique_ptr<Model> {
    const std::string values = read_described(object, description).dump();
    const Place place = object.place_of("name");
    try {
      auto made = in_interpreter([&] {
        return std::make_unique<PythonModel>(
            py::module_::import("thinpipe.models").attr("make")(model->get(), values, data));
      });
      check_logits(*made, data, place);
      return made;
    } catch (const ScriptError& error) {
      throw InputError(place, error.what());
    }
  };
  host_scripts<Model, const DataShape&>(nullptr, describe, make);
}

py::object module_of(Model& model) {
  auto* const hosted = dynamic_cast<PythonModel*>(&model);
  return hosted == nullptr ? py::object(py::none()) : hosted->module();
}

void seed_draws(Model& model) {
  if (auto* const hosted = dynamic_cast<PythonModel*>(&model)) hosted->seed_draws();
}

}  // namespace thinpipe::trainer::python
