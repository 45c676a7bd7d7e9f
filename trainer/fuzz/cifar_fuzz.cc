// SPDX-License-Identifier: Apache-2.0
#include "common/support/fuzz/input.hh"
#include "trainer/datasets/cifar_format.hh"

using namespace thinpipe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::File file(data, size);
  for (const trainer::CifarFormat format :
       {trainer::CifarFormat{.classes = 10, .label_bytes = 1, .records = 1},
        trainer::CifarFormat{.classes = 100, .label_bytes = 2, .records = 2}}) {
    fuzz::expect_result_or_error([&] {
      const auto records = trainer::read_cifar_records(file.path(), format);
      fuzz::require(std::ssize(records) == format.records * format.record_bytes(), "all records are read");
      for (std::int64_t i = 0; i < format.records; ++i) {
        const auto label = static_cast<std::size_t>(i * format.record_bytes() + format.label_bytes - 1);
        fuzz::require(records[label] < format.classes, "labels are classes");
      }
    });
  }
  return 0;
}
