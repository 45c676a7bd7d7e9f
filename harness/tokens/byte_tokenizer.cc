// SPDX-License-Identifier: Apache-2.0
#include "harness/tokens/tokenizer.hh"

namespace thinpipe {
namespace {

class ByteTokenizer : public Tokenizer {
 public:
  std::int64_t vocabulary() const override { return 256; }

  void encode(std::string_view text, std::vector<std::uint32_t>& tokens) const override {
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
  }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
  return std::make_unique<ByteTokenizer>();
}

}  // namespace thinpipe
