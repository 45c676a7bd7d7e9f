// SPDX-License-Identifier: Apache-2.0
// Converts weights from one file format to another.
#pragma once

#include <string>

namespace thinpipe::trainer {

// Reads the tensors of `input` and writes them to `output`, in the format of its extension. Returns a
// one-line report. Throws Error or SystemError naming the faulty file.
std::string convert(const std::string& input, const std::string& output);

}  // namespace thinpipe::trainer
