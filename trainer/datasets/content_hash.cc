#include "trainer/datasets/content_hash.hh"

#include <algorithm>

#include "trainer/base/input_file.hh"
#include "trainer/base/xxh3.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::size_t hashed_at_once_bytes = std::size_t{1} << 20;

void add(Xxh3& hash, const torch::Tensor& tensor) {
  const torch::Tensor whole = tensor.contiguous();
  hash.add(whole.sizes().data(), whole.sizes().size() * sizeof(std::int64_t));
  hash.add(whole.data_ptr(), whole.nbytes());
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
