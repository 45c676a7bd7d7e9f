// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/mapped_elements.hh"

#include <cstdint>
#include <cstring>

#include "common/support/exception.hh"

namespace thinpipe::trainer {

torch::Tensor elements_in(const std::shared_ptr<const void>& owner, std::span<const char> memory,
                          std::uint64_t begin, const std::vector<std::int64_t>& shape,
                          torch::ScalarType type) {
  std::uint64_t bytes = c10::elementSize(type);
  for (const std::int64_t size : shape) bytes *= static_cast<std::uint64_t>(size);
  if (begin > memory.size() || bytes > memory.size() - begin) {
    throw Error("the file has become shorter while it was read");
  }
  if (bytes == 0) return torch::empty(shape, type);
  const char* const elements = memory.data() + begin;
  if (reinterpret_cast<std::uintptr_t>(elements) % c10::elementSize(type) != 0) {
    torch::Tensor copy = torch::empty(shape, type);
    std::memcpy(copy.data_ptr(), elements, bytes);
    return copy;
  }
  // from_blob() needs a pointer that may be written to; the caller promises not to write.
  return torch::from_blob(
      const_cast<char*>(elements), shape, [owner](void* /*elements*/) {}, type);
}

}  // namespace thinpipe::trainer
