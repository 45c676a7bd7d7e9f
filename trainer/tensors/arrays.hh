// SPDX-License-Identifier: Apache-2.0
// Arrays in files of NumPy (.npy, .npz) and of safetensors.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Arrays by name. Only the files' headers are read at first.
class Arrays {
 public:
  // path: a file, by its ending .safetensors, .npz or .npy; or a folder, which stands for all such files in
  // it, but not in its folders. An array in a .npy file has the name of the file, without the ending. Throws
  // Error naming the file if it is damaged, if there is none, or if two have an array of the same name.
  explicit Arrays(const std::string& path);

  std::vector<std::string> names() const;

  bool contains(const std::string& name) const { return loaders_.contains(name); }

  // Returns the array. Its elements stay in the file, from where they are read when they are used, unless the
  // file is .npz; it must not be written to. Throws Error naming the file, and the known names if the name is
  // unknown.
  torch::Tensor load(const std::string& name) const;

  // Returns the file that holds the array.
  const std::string& file_of(const std::string& name) const { return loaders_.at(name).file; }

 private:
  struct Loader {
    std::string file;
    std::function<torch::Tensor()> load;
  };

  void add_file(const std::string& path);
  void add(const std::string& name, Loader loader);

  std::string path_;
  std::map<std::string, Loader> loaders_;
};

}  // namespace thinpipe::trainer
