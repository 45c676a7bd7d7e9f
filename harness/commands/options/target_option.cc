// SPDX-License-Identifier: Apache-2.0
#include "harness/commands/options/target_option.hh"

namespace thinpipe {

Target parse_target(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
  const Json value = Json::parse(number, nullptr, false);
  const Place place{"--target " + text, ""};
  if (!value.is_number())
    throw InputError(place,
                     "must be an accuracy such as 0.84, or a loss: test_loss=0.5, bits_per_byte=2.2 or "
                     "perplexity=40");
  return read_target(equals == std::string::npos ? value : Json{{text.substr(0, equals), value}}, place);
}

}  // namespace thinpipe
