// Models that Python code makes: a class that extends torch.nn.Module, or a function that returns one.
#pragma once

namespace thinpipe::trainer::python {

// Lets experiments name them: {"name": "my_model.py:Net", options…}. A parameter "data" of the class or
// function receives the shape of the data. Hold the interpreter's lock.
void host_models();

}  // namespace thinpipe::trainer::python
