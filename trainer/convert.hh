// Weights from one file format to another.
#pragma once

#include <string>

namespace thinpipe::trainer {

// Reads the tensors of `input` and writes them to `output`, in the format that its name ends in; returns what
// was done, one line. Throws Error or SystemError naming the file that is at fault.
std::string convert(const std::string& input, const std::string& output);

}  // namespace thinpipe::trainer
