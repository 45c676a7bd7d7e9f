// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/input_files.hh"

#include <filesystem>

#include <fmt/format.h>

#include "trainer/datasets/content_hash.hh"

namespace thinpipe::trainer {
namespace {

// A path without permission is not missing: reading it gives the right error message.
bool is_missing(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found;
}

}  // namespace

const char* InputFiles::path_key(const Json& dataset) {
  for (const char* key : {"directory", "path"}) {
    if (dataset.contains(key)) return key;
  }
  return nullptr;
}

const InputFiles::Data& InputFiles::data(const Json& dataset, const Place& place) {
  const std::string key = dataset.dump();
  if (const auto known = data_.find(key); known != data_.end()) return known->second;
  Data found;
  try {
    found.dataset = DatasetRegistry::instance().make(dataset, place, Files::read);
    found.hash = content_hash(*found.dataset);
  } catch (const InputError& error) {
    const char* const path = path_key(dataset);
    const bool lacks_path = path != nullptr && is_missing(dataset.at(path).get<std::string>());
    if (!lacks_path && dynamic_cast<const MissingData*>(&error) == nullptr) throw;
    found.dataset = DatasetRegistry::instance().make(dataset, place, Files::outlined);  // throws for options
    found.missing = error.message();
  }
  return data_.emplace(key, std::move(found)).first->second;
}

const InputFiles::Weights& InputFiles::weights(const std::string& path) {
  const auto [entry, is_new] = weights_.try_emplace(path);
  if (is_new) {
    if (is_missing(path)) {
      entry->second.missing = fmt::format("leads to {}, which does not exist", path);
    } else {
      entry->second.hash = content_hash_of_file(path);
    }
  }
  return entry->second;
}

}  // namespace thinpipe::trainer
