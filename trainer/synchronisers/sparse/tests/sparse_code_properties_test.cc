// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/sparse/sparse_code.hh"
#include "trainer/synchronisers/tests/generators.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::finite_float;
using trainer::testing::up_to;

struct SparseMessage {
  SparseHeader header;
  std::vector<float> dense;
  std::vector<std::uint32_t> indices;
};

SparseMessage any_sparse_message() {
  SparseMessage message;
  message.dense = *up_to(300, finite_float());
  message.header = {.method = *rc::gen::arbitrary<std::uint8_t>(),
                    .bucket = *rc::gen::arbitrary<std::uint32_t>(),
                    .step = *rc::gen::arbitrary<std::uint32_t>(),
                    .n = static_cast<std::uint32_t>(message.dense.size())};
  const auto kept = *rc::gen::container<std::vector<bool>>(message.dense.size(), rc::gen::arbitrary<bool>());
  for (std::uint32_t i = 0; i < message.header.n; ++i) {
    if (kept[i]) message.indices.push_back(i);
  }
  return message;
}

RC_GTEST_PROP(SparseCodeProperty, AddsTheValuesAtTheIndicesAndNothingElse, ()) {
  const SparseMessage message = any_sparse_message();
  std::vector<float> expected(message.dense.size());
  for (const std::uint32_t index : message.indices) expected[index] = message.dense[index];
  for (const std::string& name : index_code_names()) {
    const auto code = make_plain_sparse_code(name);
    const std::vector<std::uint8_t> bytes = code->encode(message.header, 0, message.indices, message.dense);
    const std::int64_t said = code->message_bytes(message.header.n, std::ssize(message.indices));
    RC_LOG() << name << std::endl;
    RC_ASSERT((code->has_fixed_size() ? std::ssize(bytes) == said : std::ssize(bytes) <= said));
    std::vector<float> sum(message.dense.size());
    code->add(bytes, message.header, 0, 1, sum);
    RC_ASSERT(sum == expected);
  }
}

RC_GTEST_PROP(SparseCodeProperty, AddsNothingOfAMessageThatItRefuses, ()) {
  const SparseMessage message = any_sparse_message();
  for (const std::string& name : index_code_names()) {
    const auto code = make_plain_sparse_code(name);
    std::vector<std::uint8_t> bytes = code->encode(message.header, 0, message.indices, message.dense);
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<std::uint8_t>();
    const auto cut = std::span(bytes).first(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
    std::vector<float> sum(message.dense.size(), 1);
    try {
      code->add(cut, message.header, 0, 1, sum);
    } catch (const CollectiveError&) {
      RC_LOG() << name << std::endl;
      RC_ASSERT(sum == std::vector<float>(message.dense.size(), 1));
    }
  }
}

}  // namespace
}  // namespace thinpipe::trainer
