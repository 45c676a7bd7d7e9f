// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "common/support/log.hh"
#include "trainer/base/process.hh"
#include "trainer/collectives/replica_check.hh"
#include "trainer/datasets/batch_loader.hh"
#include "trainer/datasets/content_hash.hh"
#include "trainer/models/layers/dropout.hh"
#include "trainer/models/loss.hh"
#include "trainer/pruning/mask.hh"
#include "trainer/python/extension/bindings.hh"
#include "trainer/python/extension/python_model.hh"
#include "trainer/tensors/tensor_file.hh"
#include "trainer/training/evaluation.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer::python {
namespace {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

NamedTensors listed(const torch::OrderedDict<std::string, torch::Tensor>& tensors) {
  NamedTensors out;
  for (const auto& entry : tensors) out.emplace_back(entry.key(), entry.value());
  return out;
}

// The parts of a rank's training that do not depend on how workers communicate: data, batches, model, initial
// weights, draws of dropout, schedule and evaluation.
class Training {
 public:
  // config: the member of that name of a worker's file, as JSON text. initial_weights: a file.
  Training(const std::string& config, int rank, const std::optional<std::string>& initial_weights)
      : config_(parse_training_config(Json::parse(config), kConfigurationPlace)),
        rank_(rank),
        dataset_(make_dataset(config_)),
        loader_(*dataset_, batch_options(config_, *dataset_, rank)),
        model_(make_model(config_, dataset_->shape())) {
    if (initial_weights) load_initial_weights(config_, *model_, load_tensors(*initial_weights));
    draws_.emplace(*model_, static_cast<std::uint64_t>(config_.seed), rank);
  }

  Model& model() { return *model_; }
  std::string data_hash() const { return content_hash(*dataset_); }

  std::int64_t iterations() const { return config_.training.epochs * loader_.batches_per_epoch(); }
  std::int64_t iterations_per_epoch() const { return loader_.batches_per_epoch(); }
  std::int64_t test_labels() const { return dataset_->test().labels.numel(); }
  std::int64_t first_bucket_bytes() const { return config_.buckets.first_size_bytes; }
  std::int64_t bucket_bytes() const {
    return config_.buckets.size_bytes.value_or(BucketOptions::default_size_bytes);
  }

  double learning_rate(std::int64_t iteration) const {
    return config_.optimiser.at("learning_rate").get<double>() *
           learning_rate_share(config_.schedule, iteration, iterations(), iterations_per_epoch());
  }

  // Begins an iteration, counted from 0: draws of dropout depend on it. Returns its batch.
  std::pair<torch::Tensor, torch::Tensor> begin_iteration(std::int64_t iteration) {
    draws_->begin_step(iteration);
    const Batch batch = loader_.load(iteration);
    return {batch.inputs, batch.labels};
  }

  torch::Tensor loss(const torch::Tensor& logits, const torch::Tensor& labels) const {
    return cross_entropy(logits, labels, config_.training.label_smoothing);
  }

  std::pair<double, std::int64_t> evaluate_part() {
    const PartialEvaluation part = trainer::evaluate_part(*model_, *dataset_, rank_, config_.workers);
    return {part.loss_sum, part.correct};
  }

 private:
  TrainingConfig config_;
  int rank_;
  std::unique_ptr<Dataset> dataset_;
  BatchLoader loader_;
  std::shared_ptr<Model> model_;
  std::optional<DropoutDraws> draws_;
};

std::vector<std::string> prunable_names(Training& self) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : prunable_weights(self.model())) names.push_back(name);
  return names;
}

// Settings of a worker's own process, as in thinpipe-trainer. Standard output is reserved for events.
void prepare_process(const std::string& log_level) {
  spdlog::set_default_logger(make_log_to_standard_error(log_level));
  keep_freed_memory();
  compute_on_one_thread();
}

}  // namespace

void bind_training(py::module_& module) {
  using Released = py::call_guard<py::gil_scoped_release>;
  module.def(
      "prepare_process", prepare_process, py::arg("log_level"),
      "Logs to standard error, keeps freed memory, and computes on one thread, as thinpipe-trainer does.");
  module.def("load_tensors", load_tensors, py::arg("path"),
             "Returns the tensors of a file of torch.save or safetensors, by name.");
  py::class_<Training>(module, "Training",
                       "One rank's data, model, schedule and evaluation, as a worker's file configures them.")
      .def(py::init<const std::string&, int, const std::optional<std::string>&>(), py::arg("config"),
           py::arg("rank"), py::arg("initial_weights"))
      .def_property_readonly("iterations", &Training::iterations, "Of the whole run.")
      .def_property_readonly("iterations_per_epoch", &Training::iterations_per_epoch)
      .def_property_readonly("test_labels", &Training::test_labels, "Number of labels of the whole test set.")
      .def("data_hash", &Training::data_hash, Released(), "Returns the hash of all examples, as in records.")
      .def_property_readonly("first_bucket_bytes", &Training::first_bucket_bytes)
      .def_property_readonly("bucket_bytes", &Training::bucket_bytes)
      .def_property_readonly(
          "parameters_hash",
          [](Training& self) { return fmt::format("{:016x}", parameters_hash(self.model())); },
          "Of the names, shapes and values of all parameters, as in records.")
      .def("learning_rate", &Training::learning_rate, py::arg("iteration"),
           "Returns the optimiser's learning rate in an iteration, counted from 0.")
      .def("begin_iteration", &Training::begin_iteration, Released(), py::arg("iteration"),
           "Begins an iteration, counted from 0. Returns its batch: inputs and labels.")
      .def("loss", &Training::loss, py::arg("logits"), py::arg("labels"),
           "Returns the mean cross-entropy, with the configured label smoothing, which training minimises.")
      .def(
          "evaluate_part", &Training::evaluate_part, Released(),
          "Evaluates this rank's part of the test set. Returns the sum of losses and the number of correct labels.")
      .def_property_readonly("parameters",
                             [](Training& self) { return listed(self.model().named_parameters()); })
      .def_property_readonly("buffers", [](Training& self) { return listed(self.model().named_buffers()); })
      .def_property_readonly("prunable_weights", prunable_names,
                             "Names of the weights that pruning may prune.")
      .def_property_readonly(
          "module", [](Training& self) { return module_of(self.model()); },
          "The torch.nn.Module of a model in a Python file; None if the model is in C++.")
      .def(
          "seed_draws", [](Training& self) { seed_draws(self.model()); },
          "Seeds torch's global generator for the coming forward pass of a model in a Python file.")
      .def(
          "forward", [](Training& self, const torch::Tensor& inputs) { return self.model().forward(inputs); },
          Released(), py::arg("inputs"))
      .def(
          "train", [](Training& self, bool on) { self.model().train(on); }, Released(), py::arg("on"));
}

}  // namespace thinpipe::trainer::python
