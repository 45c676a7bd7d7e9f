// SPDX-License-Identifier: Apache-2.0
// The data sets and weights that configurations name. Each file is read once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

class InputFiles {
 public:
  struct Data {
    std::unique_ptr<Dataset> dataset;    // if the files are missing, its outline, or null
    Json hash;                           // of the content; null if the files are missing
    std::optional<std::string> missing;  // the error message, if the files are missing

    // Returns whether only the sizes are known.
    bool is_outline() const { return missing && dataset; }
  };

  struct Weights {
    Json hash;
    std::optional<std::string> missing;
  };

  // Reads the data set {"name": …} at `place`. Throws InputError if its files exist but are damaged.
  const Data& data(const Json& dataset, const Place& place);

  const Weights& weights(const std::string& path);

  // Returns the option of {"name": …, options…} that holds the path of the data set's files;
  // null if it has none.
  static const char* path_key(const Json& dataset);

 private:
  std::map<std::string, Data> data_;
  std::map<std::string, Weights> weights_;
};

}  // namespace thinpipe::trainer
