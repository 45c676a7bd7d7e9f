// SPDX-License-Identifier: Apache-2.0
// The error of collectives and of the codes whose messages they carry.
#pragma once

#include "common/support/exception.hh"

namespace thinpipe::trainer {

class CollectiveError : public Error {
 public:
  using Error::Error;
};

}  // namespace thinpipe::trainer
