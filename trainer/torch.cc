#include "trainer/torch.hh"
