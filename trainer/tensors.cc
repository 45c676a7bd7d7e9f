#include "trainer/tensors.hh"
