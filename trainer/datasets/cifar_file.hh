// SPDX-License-Identifier: Apache-2.0
// Files of CIFAR-10 and CIFAR-100 as tensors.
#pragma once

#include "trainer/datasets/cifar_format.hh"
#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

// Throws the errors of read_cifar_records().
Examples read_cifar_file(const std::string& path, const CifarFormat& format);

}  // namespace thinpipe::trainer
