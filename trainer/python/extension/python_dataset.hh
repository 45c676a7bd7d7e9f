// SPDX-License-Identifier: Apache-2.0
// Data sets that Python functions load (trainer/python/thinpipe/datasets.py).
#pragma once

namespace thinpipe::trainer::python {

// Lets experiments name them: {"name": "my_data.py:load", options…}. Hold the interpreter's lock.
void host_datasets();

}  // namespace thinpipe::trainer::python
