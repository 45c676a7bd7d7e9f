// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/pretraining.hh"

#include <thread>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "trainer/base/stopwatch.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/datasets/batch_loader.hh"
#include "trainer/models/loss.hh"
#include "trainer/tensors/tensor_file.hh"
#include "trainer/tensors/weights.hh"
#include "trainer/training/evaluation.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {

void pretrain(const TrainingConfig& config, const std::string& output, const EventSink& events) {
  at::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  const PretrainingOptions& options = config.pretraining;
  const std::unique_ptr<Dataset> dataset = make_pretraining_dataset(config);
  const std::shared_ptr<Model> model = make_model(config, dataset->shape());
  if (config.weights.file) {
    const std::string& file = *config.weights.file;
    const WeightRules rules{.head = model->head(), .new_head = config.weights.head == "new"};
    for (const std::string& note : load_weights(*model, load_tensors(file), file, rules)) {
      spdlog::info(note);
    }
  }
  torch::optim::SGD optimiser(model->parameters(),
                              torch::optim::SGDOptions(options.learning_rate).momentum(0.9));
  BatchLoader loader(*dataset, {.examples = dataset->train().size(),
                                .batch_size_per_worker = options.batch_size,
                                .seed = static_cast<std::uint64_t>(config.seed)});
  double train_time_s = 0;
  for (std::int64_t iteration = 0; iteration < options.iterations; ++iteration) {
    const Stopwatch stopwatch;
    const Batch batch = loader.load(iteration);
    optimiser.zero_grad();
    const torch::Tensor loss = cross_entropy(model->forward(batch.inputs), batch.labels);
    loss.backward();
    optimiser.step();
    train_time_s += stopwatch.elapsed_s();
    if (!std::isfinite(loss.item<double>())) {
      throw NonFiniteError(
          fmt::format("the loss is not finite at iteration {} of pre-training; a lower "
                      "pretraining.learning_rate may help",
                      iteration + 1));
    }
    events(event::Pretraining{
        .iteration = iteration + 1, .iterations = options.iterations, .train_loss = loss.item<double>()});
  }
  InProcessGroup alone(1);
  const Evaluation evaluation = evaluate(*model, *dataset, *alone.join(0));
  save_tensors(weights_of(*model), output);
  events(event::Pretrained{.test_accuracy = evaluation.accuracy, .train_time_s = train_time_s});
}

}  // namespace thinpipe::trainer
