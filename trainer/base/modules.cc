#include "trainer/base/modules.hh"
