// SPDX-License-Identifier: Apache-2.0
// Stands in for a header that Gloo's installation leaves out although its header of pairs needs it. Our code only needs the
// sizes of these pointers, which the library's functions use.
#pragma once

#include <memory>

namespace gloo {

template <class T>
class NonOwningPtr {
  std::shared_ptr<T> pointer_;
};

template <class T>
class WeakNonOwningPtr {
  std::weak_ptr<T> pointer_;
};

}  // namespace gloo
