// What tests of data sets share.
#pragma once

#include <memory>
#include <string>

#include "trainer/datasets/dataset.hh"
#include "trainer/datasets/tests/directory.hh"

namespace thinpipe::trainer {

inline std::unique_ptr<Dataset> make_dataset(const Json& options) {
  return DatasetRegistry::instance().make(options, {"experiment.json", "/dataset"}, Files::read);
}

// What making the data set says is wrong with its options.
inline std::string refusal(const Json& options) {
  try {
    make_dataset(options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace thinpipe::trainer
