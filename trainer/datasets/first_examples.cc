// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/first_examples.hh"

#include <fmt/format.h>

namespace thinpipe::trainer {

Examples first_examples(const Examples& examples, const std::optional<std::int64_t>& count,
                        const Place& place) {
  if (!count) return examples;
  if (*count > examples.size()) {
    throw InputError(
        place, fmt::format("must be at most {}, the number of examples, but is {}", examples.size(), *count));
  }
  return {examples.inputs.narrow(0, 0, *count), examples.labels.narrow(0, 0, *count)};
}

}  // namespace thinpipe::trainer
