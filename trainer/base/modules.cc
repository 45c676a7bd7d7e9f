// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/modules.hh"
