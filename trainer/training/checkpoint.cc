// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/checkpoint.hh"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "trainer/tensors/tensor_file.hh"

namespace thinpipe::trainer {

std::string CheckpointFolder::path(std::int64_t iteration) const {
  return fmt::format("{}/rank-{}.iteration-{}.pt", folder_, rank_, iteration);
}

std::vector<std::int64_t> CheckpointFolder::iterations() const {
  std::vector<std::int64_t> found;
  const std::string prefix = fmt::format("rank-{}.iteration-", rank_);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix) || !name.ends_with(".pt")) continue;
    std::int64_t iteration = 0;
    const char* const begin = name.data() + prefix.size();
    const auto [end, status] = std::from_chars(begin, name.data() + name.size(), iteration);
    if (status == std::errc() && std::string_view(end) == ".pt") found.push_back(iteration);
  }
  std::ranges::sort(found);
  return found;
}

void CheckpointFolder::save(std::int64_t iteration, const TensorMap& state) const {
  std::filesystem::create_directories(folder_);
  save_tensors(state, path(iteration));
  const auto saved = iterations();
  for (std::size_t i = 0; i + 2 < saved.size(); ++i) std::filesystem::remove(path(saved[i]));
}

TensorMap CheckpointFolder::load(std::int64_t iteration) const {
  return load_tensors(path(iteration));
}

std::optional<CheckpointFolder::Found> CheckpointFolder::load_newest(Collective& collective) const {
  std::vector<std::int64_t> own =
      std::filesystem::is_directory(folder_) ? iterations() : std::vector<std::int64_t>{};
  // Finds the newest iteration that all workers have. Each offers its largest; the smallest offer wins; this
  // repeats until all offers are equal. The minimum is the maximum of the negated offers; -1 means no file.
  while (true) {
    const std::int64_t offer = own.empty() ? -1 : own.back();
    const torch::Tensor lowest_and_highest = torch::tensor({-offer, offer}, torch::kLong);
    collective.all_reduce(lowest_and_highest, Reduction::max);
    const std::int64_t lowest = -lowest_and_highest[0].item<std::int64_t>();
    if (lowest < 0) return std::nullopt;
    if (lowest == lowest_and_highest[1].item<std::int64_t>()) return Found{lowest, load(lowest)};
    while (!own.empty() && own.back() > lowest) own.pop_back();
  }
}

torch::Tensor optimiser_state(const torch::optim::Optimizer& optimiser) {
  torch::serialize::OutputArchive archive;
  optimiser.save(archive);
  std::ostringstream stream;
  archive.save_to(stream);
  const std::string bytes = stream.str();
  torch::Tensor state = torch::empty({std::ssize(bytes)}, torch::kByte);
  std::memcpy(state.data_ptr(), bytes.data(), bytes.size());
  return state;
}

void restore_optimiser(torch::optim::Optimizer& optimiser, const torch::Tensor& state) {
  torch::serialize::InputArchive archive;
  archive.load_from(static_cast<const char*>(state.data_ptr()), state.nbytes());
  optimiser.state().clear();  // load() keeps entries that are not in the archive
  optimiser.load(archive);
}

}  // namespace thinpipe::trainer
