// Implementations in Python files need Python around this code. thinpipe-trainer has none: it hands such
// configurations to the same commands in thinpipe's Python package.
#pragma once

#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe::trainer {

// Tells that this process is Python: from now on needs_python_host() returns false.
void be_python_host();

// Returns whether the file of a command, or a configuration, names an implementation in a Python file, while
// this process is not Python.
bool needs_python_host(const Json& description);

// Returns the program and arguments that run a command of thinpipe-trainer in Python: in the interpreter that
// the variable THINPIPE_PYTHON names, which must have the package thinpipe, or else in the one that this
// program was built with. Throws Error with the remedies if there is none.
std::vector<std::string> in_python(const std::vector<std::string>& arguments);

// Replaces this process. Throws Error as in_python() does, or if Python cannot be executed.
[[noreturn]] void continue_in_python(const std::vector<std::string>& arguments);

}  // namespace thinpipe::trainer
