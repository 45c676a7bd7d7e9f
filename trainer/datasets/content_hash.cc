#include "trainer/datasets/content_hash.hh"

#include <memory>

#include <fmt/format.h>
#include <xxhash.h>

#include "trainer/base/input_file.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::size_t hashed_at_once_bytes = std::size_t{1} << 20;

class Xxh3 {
 public:
  Xxh3() { XXH3_64bits_reset(state_.get()); }

  void add(const void* bytes, std::size_t size) { XXH3_64bits_update(state_.get(), bytes, size); }

  void add(const torch::Tensor& tensor) {
    const torch::Tensor whole = tensor.contiguous();
    add(whole.sizes().data(), whole.sizes().size() * sizeof(std::int64_t));
    add(whole.data_ptr(), whole.nbytes());
  }

  std::string digits() const { return fmt::format("{:016x}", XXH3_64bits_digest(state_.get())); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

}  // namespace

std::string content_hash(const Dataset& dataset) {
  Xxh3 hash;
  for (const Examples* part : {&dataset.train(), &dataset.test()}) {
    hash.add(part->inputs);
    hash.add(part->labels);
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
