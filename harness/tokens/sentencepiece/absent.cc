// SPDX-License-Identifier: Apache-2.0
// In a build without sentencepiece.
#include "harness/tokens/tokenizer.hh"

namespace thinpipe {

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(std::string_view /*text*/,
                                                        std::int64_t /*vocabulary*/) {
  throw Error(
      "this build has no sentencepiece: install libsentencepiece-dev and build again, or use "
      "--tokens characters or --tokens bytes");
}

}  // namespace thinpipe
