// SPDX-License-Identifier: Apache-2.0
// The classes that Python sees: thinpipe._core.
#pragma once

#include <memory>
#include <optional>

#include <torch/extension.h>

#include "trainer/base/bucket.hh"
#include "trainer/collectives/collective.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer::python {

namespace py = pybind11;

using Parameters = std::shared_ptr<const std::vector<ParameterInfo>>;

// A bucket, and the parameters that its slices refer to.
struct NamedBucket {
  Bucket bucket;
  Parameters parameters;
};

// A slice of a bucket, and its parameter.
struct NamedSlice {
  Slice slice;
  Parameters parameters;

  const ParameterInfo& parameter() const { return parameters->at(slice.parameter); }
};

// What a method is told at its start.
struct Context {
  SynchroniserContext context;
  Parameters parameters;
};

// The collective calls of one synchronisation. Python may keep the object for longer than the network
// exists, so end() must be called before.
class Network {
 public:
  explicit Network(Collective& collective) : collective_(&collective) {}

  void end() { collective_ = nullptr; }

  // Throws Error after end().
  Collective& collective() const;

 private:
  Collective* collective_;
};

void bind_buckets(py::module_& module);
void bind_ddp(py::module_& module);
void bind_hooks(py::module_& module);
void bind_network(py::module_& module);
void bind_selection(py::module_& module);
void bind_shape(py::module_& module);
void bind_state(py::module_& module);
void bind_training(py::module_& module);

}  // namespace thinpipe::trainer::python
