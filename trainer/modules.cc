#include "trainer/modules.hh"
