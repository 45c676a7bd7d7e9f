// SPDX-License-Identifier: Apache-2.0
// The options train_examples and test_examples of data sets.
#pragma once

#include "common/support/exception.hh"
#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

// Returns the first `count` examples, or all; throws InputError at `place` if there are fewer.
Examples first_examples(const Examples& examples, const std::optional<std::int64_t>& count,
                        const Place& place);

}  // namespace thinpipe::trainer
