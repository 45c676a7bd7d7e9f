// The precompiled header: LibTorch, and the parts of the standard library that every file of the trainer
// uses.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <torch/torch.h>
