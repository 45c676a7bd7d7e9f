#include "trainer/datasets/cifar_file.hh"

#include <fmt/format.h>

#include "harness/support/exception.hh"
#include "trainer/input_file.hh"

namespace thinpipe::trainer {

Examples read_cifar_file(const std::string& path, const CifarFormat& format) {
  constexpr std::int64_t channels = 3;
  const std::int64_t pixels = channels * cifar_side * cifar_side;
  const std::int64_t record = format.label_bytes + pixels;
  const InputFile file(path);
  if (file.size() != static_cast<std::uint64_t>(format.records * record)) {
    throw Error(fmt::format("{} has {} bytes, expected {}: {} records of {}", path, file.size(),
                            format.records * record, format.records, record));
  }
  const torch::Tensor bytes = torch::empty({format.records, record}, torch::kUInt8);
  file.read(0, {static_cast<char*>(bytes.data_ptr()), bytes.nbytes()});
  const torch::Tensor labels = bytes.select(1, format.label_bytes - 1).to(torch::kInt64);
  const torch::Tensor wrong = labels.ge(format.classes).nonzero();
  if (wrong.numel() > 0) {
    const auto index = wrong[0].item<std::int64_t>();
    throw Error(fmt::format("{}: record {} has label {}, expected 0 to {}", path, index,
                            labels[index].item<std::int64_t>(), format.classes - 1));
  }
  return {bytes.narrow(1, format.label_bytes, pixels)
              .contiguous()
              .view({format.records, channels, cifar_side, cifar_side}),
          labels};
}

}  // namespace thinpipe::trainer
