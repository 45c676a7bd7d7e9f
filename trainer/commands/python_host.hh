// SPDX-License-Identifier: Apache-2.0
// Implementations in Python files need Python around this code. thinpipe-trainer has none: it hands such
// configurations to the same commands in thinpipe's Python package. If the variable THINPIPE_PYTHON names an
// interpreter, it hands on all configurations, so that all runs of a comparison have the same LibTorch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe::trainer {

// Notes that this process is Python, of that version: from now on needs_python_host() returns false.
void be_python_host(std::string version);

// Returns Python's version; nullopt if this process is not Python.
const std::optional<std::string>& python_version();

// Returns whether Python must take over: `description`, a worker file or a configuration, names an implementation in
// a Python file, or THINPIPE_PYTHON is set.
bool needs_python_host(const Json& description);

// Returns the program and arguments that run a command of thinpipe-trainer in Python: in the interpreter that
// THINPIPE_PYTHON names, which must have the package thinpipe, or else in the one that this program was built
// with. Throws Error with the remedies if there is none.
std::vector<std::string> in_python(const std::vector<std::string>& arguments);

// Returns what to add to an error of that program: the interpreter and the remedy if it lacks the package. Empty if
// THINPIPE_PYTHON is not set.
std::string remedy_for_python();

// Returns the program and arguments that run a Python program in the same interpreter, so that it finds the package.
// If THINPIPE_PYTHON has no package, the program itself must say so. Throws Error as in_python() does.
std::vector<std::string> program_in_python(const std::vector<std::string>& program);

// Replaces this process by a program with arguments. Throws SystemError if it cannot be executed.
[[noreturn]] void become(std::vector<std::string> words);

// Replaces this process. Throws as in_python() and become() do.
[[noreturn]] void continue_in_python(const std::vector<std::string>& arguments);

}  // namespace thinpipe::trainer
