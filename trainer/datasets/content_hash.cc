// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/content_hash.hh"

#include <algorithm>

#include "trainer/base/input_file.hh"
#include "trainer/base/xxh3.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::size_t hashed_at_once_bytes = std::size_t{1} << 20;

// Hashes of these types are older than those of others, which contain the type.
bool has_usual_type(const torch::Tensor& tensor) {
  return tensor.scalar_type() == torch::kUInt8 || tensor.scalar_type() == torch::kInt64;
}

// Hashes the elements in row-major order, whatever their layout in memory.
void add(Xxh3& hash, const torch::Tensor& tensor) {
  hash.add(tensor.sizes().data(), tensor.sizes().size() * sizeof(std::int64_t));
  const std::string type = c10::toString(tensor.scalar_type());
  if (!has_usual_type(tensor)) hash.add(type.data(), type.size());
  if (tensor.is_contiguous()) {
    hash.add(tensor.data_ptr(), tensor.nbytes());
    return;
  }
  // Row by row, because the whole may be larger than memory.
  for (std::int64_t row = 0; row < tensor.size(0); ++row) {
    const torch::Tensor elements = tensor[row].contiguous();
    hash.add(elements.data_ptr(), elements.nbytes());
  }
}

}  // namespace

std::string content_hash(const Dataset& dataset) {
  if (auto known = dataset.known_content_hash()) return *std::move(known);
  Xxh3 hash;
  for (const Examples* part : {&dataset.train(), &dataset.test()}) {
    add(hash, part->inputs);
    add(hash, part->labels);
  }
  return hash.digits();
}

std::string content_hash(const torch::Tensor& tensor) {
  Xxh3 hash;
  add(hash, tensor);
  return hash.digits();
}

std::string content_hash_of_file(const std::string& path) {
  const InputFile file(path);
  Xxh3 hash;
  std::string piece;
  for (std::uint64_t at = 0; at < file.size(); at += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(hashed_at_once_bytes, file.size() - at)));
    file.read(at, piece);
    hash.add(piece.data(), piece.size());
  }
  return hash.digits();
}

}  // namespace thinpipe::trainer
