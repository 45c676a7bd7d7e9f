// SPDX-License-Identifier: Apache-2.0
// Methods whose classes extend thinpipe.Synchroniser (trainer/python/thinpipe/method.py).
#pragma once

namespace thinpipe::trainer::python {

// Lets experiments name them: {"name": "my_method.py:MyMethod", options…}. Hold the interpreter's lock.
void host_synchronisers();

}  // namespace thinpipe::trainer::python
