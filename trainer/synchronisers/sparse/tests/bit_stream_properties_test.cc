// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "trainer/synchronisers/sparse/bit_stream.hh"
#include "trainer/synchronisers/tests/generators.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::up_to;

constexpr int unary = -1;
using BitItem = std::pair<int, std::uint32_t>;  // bits, or unary; value

rc::Gen<BitItem> bit_item() {
  return rc::gen::mapcat(rc::gen::inRange(unary, 33), [](int bits) {
    const std::uint64_t values = bits == unary ? 200 : std::uint64_t{1} << bits;
    return rc::gen::pair(rc::gen::just(bits),
                         rc::gen::cast<std::uint32_t>(rc::gen::inRange<std::uint64_t>(0, values)));
  });
}

RC_GTEST_PROP(BitStreamProperty, GivesBackNumbersOfEveryWidthAndRunsOfOnes, ()) {
  const std::vector<BitItem> items = *up_to(300, bit_item());
  std::vector<std::uint8_t> bytes;
  BitWriter writer(bytes);
  for (const auto& [bits, value] : items) {
    bits == unary ? writer.append_unary(value) : writer.append(value, bits);
  }
  writer.finish();
  const std::size_t written = bytes.size();
  bytes.resize(written + *rc::gen::inRange(0, 20));  // of a later message
  BitReader reader(bytes);
  for (const auto& [bits, value] : items) {
    RC_ASSERT((bits == unary ? reader.read_unary() : reader.read(bits)) == value);
  }
  RC_ASSERT(reader.bytes_read() == written);
}

}  // namespace
}  // namespace thinpipe::trainer
