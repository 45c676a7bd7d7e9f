#include "trainer/base/tensors.hh"
