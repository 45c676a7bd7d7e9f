// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "common/support/fuzz/input.hh"
#include "trainer/tensors/legacy_file.hh"

using namespace thinpipe;

namespace {

void check(const trainer::StateDictIndex& index) {
  for (const trainer::StoredTensor& tensor : index.tensors) {
    fuzz::require(tensor.sizes.size() == tensor.strides.size(), "a tensor has a stride for each dimension");
    if (std::ranges::find(tensor.sizes, 0) != tensor.sizes.end()) continue;
    std::int64_t last = tensor.offset;
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) last += (tensor.sizes[i] - 1) * tensor.strides[i];
    fuzz::require(last < tensor.storage.elements, "a tensor stays inside its memory");
  }
}

}  // namespace

// A file of PyTorch before 1.6, or the data.pkl of a later archive.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text(data, size);
  return fuzz::expect_result_or_error([&] {
    if (!trainer::begins_as_legacy_file(text)) {
      check(trainer::index_state_dict(trainer::read_pickle(text, "fuzz.pt"), "fuzz.pt"));
      return;
    }
    const trainer::LegacyFile file = trainer::read_legacy_file(text, "fuzz.pt");
    check(file.index);
    for (const auto& [key, elements] : file.elements) {
      fuzz::require(elements.empty() || (elements.data() >= text.data() &&
                                         elements.data() + elements.size() <= text.data() + text.size()),
                    "elements are inside the file");
    }
  });
}
