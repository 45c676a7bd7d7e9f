// SPDX-License-Identifier: Apache-2.0
// Calls of the user's Python code from threads of the trainer.
#pragma once

#include <string>
#include <utility>

#include <pybind11/pybind11.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer::python {

namespace py = pybind11;

// Python code raised an exception. The message begins with the file and line of the user's code.
class ScriptError : public Error {
 public:
  using Error::Error;
};

// The user's code lacks a file or a module: FileNotFoundError or ModuleNotFoundError.
class ScriptLacks : public ScriptError {
 public:
  using ScriptError::ScriptError;
};

// Throws ScriptError for the exception that has been raised, and writes its traceback to the log.
[[noreturn]] void rethrow(py::error_already_set& error);

// Runs `action` with the interpreter's lock held. An exception of Python, or a result of another type than
// expected, becomes a ScriptError.
template <class Action>
auto in_interpreter(const Action& action) {
  const py::gil_scoped_acquire acquired;
  try {
    return action();
  } catch (py::error_already_set& error) {
    rethrow(error);
  } catch (const py::cast_error& error) {
    throw ScriptError(error.what());
  }
}

// A Python object that any thread may copy or destroy.
class SharedObject {
 public:
  explicit SharedObject(py::object object) : object_(std::move(object)) {}
  ~SharedObject() {
    const py::gil_scoped_acquire acquired;
    object_ = py::object();
  }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  SharedObject(SharedObject&&) = delete;
  SharedObject& operator=(SharedObject&&) = delete;

  // Hold the interpreter's lock while using it.
  const py::object& get() const { return object_; }

 private:
  py::object object_;
};

}  // namespace thinpipe::trainer::python
