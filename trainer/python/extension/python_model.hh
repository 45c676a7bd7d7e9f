// SPDX-License-Identifier: Apache-2.0
// Models that Python code makes: a class that extends torch.nn.Module, or a function that returns one.
#pragma once

#include <pybind11/pybind11.h>

#include "trainer/models/model.hh"

namespace thinpipe::trainer::python {

// Lets experiments name them: {"name": "my_model.py:Net", options…}. A parameter "data" of the class or
// function receives the shape of the data. Hold the interpreter's lock.
void host_models();

// Returns the torch.nn.Module of such a model; None for a model in C++. Hold the interpreter's lock.
pybind11::object module_of(Model& model);

// Seeds torch's global generator, from which such a model draws its dropout, by the model's DropoutDraws. To be called
// before each forward pass that does not go through the Model. Does nothing for a model in C++.
void seed_draws(Model& model);

}  // namespace thinpipe::trainer::python
