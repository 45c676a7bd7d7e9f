// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/compressor.hh"

#include <fmt/format.h>

namespace thinpipe::trainer {

std::unique_ptr<Compressor> make_compressor(const Json& description, const Place& place,
                                            const SynchroniserContext& context) {
  std::unique_ptr<Synchroniser> made = SynchroniserRegistry::instance().make(description, place, context);
  auto* compressor = dynamic_cast<Compressor*>(made.get());
  if (compressor == nullptr) {
    throw InputError(
        place / "name",
        fmt::format(
            "{} cannot be put inside ef: it does not report the error of its message, or has error feedback "
            "of its own; use a compressor, such as \"scaled_sign\" or \"qsgd\"",
            description.at("name").dump()));
  }
  static_cast<void>(made.release());
  return std::unique_ptr<Compressor>(compressor);
}

}  // namespace thinpipe::trainer
