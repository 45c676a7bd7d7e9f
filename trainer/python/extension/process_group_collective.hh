// SPDX-License-Identifier: Apache-2.0
// Collectives over a process group of torch.distributed, through Python.
#pragma once

#include <memory>

#include <pybind11/pybind11.h>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer::python {

// group: an object of thinpipe.process_group.ProcessGroup. Hold the interpreter's lock.
std::unique_ptr<Collective> make_process_group_collective(pybind11::object group);

}  // namespace thinpipe::trainer::python
