// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/deepreduce/deepreduce_code.hh"
#include "trainer/synchronisers/deepreduce/deepreduce_index_code.hh"
#include "trainer/synchronisers/deepreduce/value_code.hh"
#include "trainer/synchronisers/tests/generators.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::finite_float;
using trainer::testing::up_to;

struct CodedMessage {
  DeepReduceFormat format;
  SparseHeader header;
  std::vector<float> dense;
  std::vector<std::uint32_t> indices;
};

// With more than 1000 entries, because smaller buckets are sent uncompressed.
CodedMessage any_coded_message() {
  CodedMessage message;
  message.format = {.indices = *rc::gen::elementOf(deepreduce_index_code_names()),
                    .values = *rc::gen::elementOf(value_code_names()),
                    .false_positive_rate = *rc::gen::element(0.001, 0.1, 0.9)};
  message.header = {.method = 1, .n = *rc::gen::inRange<std::uint32_t>(1001, 1300)};
  message.dense.resize(message.header.n);
  message.indices = *up_to(80, rc::gen::inRange<std::uint32_t>(0, message.header.n));
  std::ranges::sort(message.indices);
  const auto repeated = std::ranges::unique(message.indices);
  message.indices.erase(repeated.begin(), repeated.end());
  for (const std::uint32_t index : message.indices) message.dense[index] = *finite_float();
  return message;
}

RC_GTEST_PROP(DeepReduceCodeProperty, IsNoLongerThanItSays, ()) {
  const CodedMessage message = any_coded_message();
  const auto code = make_deepreduce_code(message.format);
  const auto bytes = code->encode(message.header, 3, message.indices, message.dense);
  const std::int64_t said = code->message_bytes(message.header.n, std::ssize(message.indices));
  RC_ASSERT((code->has_fixed_size() ? std::ssize(bytes) == said : std::ssize(bytes) <= said));
  RC_ASSERT(code->expected_bytes(message.header.n, std::ssize(message.indices)) <= said);
  std::vector<float> sum(message.dense.size());
  code->add(bytes, message.header, 3, 1, sum);  // accepts its own messages
}

RC_GTEST_PROP(DeepReduceCodeProperty, LosesNothingWithLosslessCodes, ()) {
  CodedMessage message = any_coded_message();
  message.format.indices = *rc::gen::elementOf(std::vector<std::string>{"huffman", "plain", "run_length"});
  message.format.values = *rc::gen::elementOf(std::vector<std::string>{"deflate", "f32"});
  const auto code = make_deepreduce_code(message.format);
  std::vector<float> sum(message.dense.size());
  code->add(code->encode(message.header, 3, message.indices, message.dense), message.header, 3, 1, sum);
  RC_ASSERT(sum == message.dense);
}

RC_GTEST_PROP(DeepReduceCodeProperty, AddsNothingOfAMessageThatItRefuses, ()) {
  const CodedMessage message = any_coded_message();
  const auto code = make_deepreduce_code(message.format);
  std::vector<std::uint8_t> bytes = code->encode(message.header, 3, message.indices, message.dense);
  for (const std::size_t place : *up_to(3, rc::gen::arbitrary<std::size_t>()))
    bytes[place % bytes.size()] ^= *rc::gen::inRange<std::uint8_t>(1, 255);
  bytes.resize(bytes.size() - *rc::gen::inRange<std::size_t>(0, 10));
  std::vector<float> sum(message.dense.size(), 1);
  try {
    code->add(bytes, message.header, 3, 1, sum);
  } catch (const CollectiveError&) {
    RC_ASSERT(sum == std::vector<float>(message.dense.size(), 1));
  }
}

}  // namespace
}  // namespace thinpipe::trainer
