// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of data sets.
#pragma once

#include <memory>
#include <string>

#include "trainer/datasets/dataset.hh"
#include "trainer/datasets/tests/directory.hh"

namespace thinpipe::trainer {

inline std::unique_ptr<Dataset> make_dataset(const Json& options) {
  return DatasetRegistry::instance().make(options, {"experiment.json", "/dataset"}, Files::read);
}

// Returns the error message for the data set's options.
inline std::string refusal(const Json& options) {
  try {
    make_dataset(options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace thinpipe::trainer
