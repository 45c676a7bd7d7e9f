// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/sparse/index_code.hh"
#include "trainer/synchronisers/tests/generators.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::up_to;

struct IndexMessage {
  std::uint32_t n = 1;
  std::vector<std::uint32_t> indices;  // ascending

  std::uint32_t count() const { return static_cast<std::uint32_t>(indices.size()); }
};

void showValue(const IndexMessage& message, std::ostream& out) {  // RapidCheck looks for this name
  rc::show(message.indices, out);
  out << " below " << message.n;
}

// Sets with up to three blocks of u16, and with up to the maximum number of entries. Most have few entries;
// small ones may have nearly all.
rc::Gen<IndexMessage> index_message() {
  const auto n =
      rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(1, 300), rc::gen::inRange<std::uint32_t>(1, 200'000),
                     rc::gen::inRange<std::uint32_t>(1, std::numeric_limits<std::uint32_t>::max()));
  return rc::gen::mapcat(n, [](std::uint32_t entries) {
    const auto drawn = up_to(600, rc::gen::inRange<std::uint32_t>(0, entries));
    return rc::gen::map(drawn, [entries](std::vector<std::uint32_t> indices) {
      std::ranges::sort(indices);
      const auto repeated = std::ranges::unique(indices);
      indices.erase(repeated.begin(), repeated.end());
      return IndexMessage{entries, std::move(indices)};
    });
  });
}

// Returns the names of codes for which this message is small enough to test.
std::vector<std::string> usable_index_codes(const IndexMessage& message) {
  std::vector<std::string> names = index_code_names();
  std::erase_if(names, [&](const std::string& name) {
    return make_index_code(name)->bytes(message.n, message.count()) > 1'000'000;
  });
  return names;
}

RC_GTEST_PROP(IndexCodeProperty, GivesBackAnySetInTheBytesItSays, ()) {
  const IndexMessage message = *index_message();
  for (const std::string& name : usable_index_codes(message)) {
    const auto code = make_index_code(name);
    std::vector<std::uint8_t> bytes = {0xAB};  // of an earlier message
    code->append(message.indices, message.n, bytes);
    const std::int64_t own = std::ssize(bytes) - 1;
    const std::int64_t said = code->bytes(message.n, message.count());
    RC_LOG() << name << std::endl;
    RC_ASSERT((code->has_fixed_size() ? own == said : own <= said));
    bytes.insert(bytes.end(), 11, 0xCD);  // and a later one
    std::vector<std::uint32_t> read = {1, 2, 3};
    RC_ASSERT(code->read(std::span(bytes).subspan(1), message.n, message.count(), read) ==
              static_cast<std::size_t>(own));
    RC_ASSERT(read == message.indices);
  }
}

RC_GTEST_PROP(IndexCodeProperty, RefusesBytesThatEndTooEarly, ()) {
  const IndexMessage message = *index_message();
  for (const std::string& name : usable_index_codes(message)) {
    const auto code = make_index_code(name);
    std::vector<std::uint8_t> bytes;
    code->append(message.indices, message.n, bytes);
    if (bytes.empty()) continue;
    const std::size_t kept = *rc::gen::inRange<std::size_t>(0, bytes.size());
    std::vector<std::uint32_t> read;
    RC_LOG() << name << std::endl;
    RC_ASSERT_THROWS_AS(code->read(std::span(bytes).first(kept), message.n, message.count(), read),
                        CollectiveError);
  }
}

// Whatever the bytes are, reading them gives valid indices or an error.
void check_read_or_refused(const std::string& name, std::span<const std::uint8_t> bytes, std::uint32_t n,
                           std::uint32_t count) {
  std::vector<std::uint32_t> read;
  try {
    RC_ASSERT(make_index_code(name)->read(bytes, n, count, read) <= bytes.size());
  } catch (const CollectiveError&) {
    return;
  }
  RC_LOG() << name << std::endl;
  RC_ASSERT(read.size() == count);
  RC_ASSERT(std::ranges::is_sorted(read, std::less_equal()));
  RC_ASSERT((read.empty() || read.back() < n));
}

RC_GTEST_PROP(IndexCodeProperty, MakesNothingElseOfGarbage, ()) {
  const auto n = *rc::gen::inRange<std::uint32_t>(1, 200);
  const auto count = *rc::gen::inRange<std::uint32_t>(0, n + 1);
  const auto bytes = *up_to(64, rc::gen::arbitrary<std::uint8_t>());
  for (const std::string& name : index_code_names()) check_read_or_refused(name, bytes, n, count);
}

RC_GTEST_PROP(IndexCodeProperty, MakesNothingElseOfACorruptedMessage, ()) {
  const IndexMessage message = *index_message();
  for (const std::string& name : usable_index_codes(message)) {
    std::vector<std::uint8_t> bytes;
    make_index_code(name)->append(message.indices, message.n, bytes);
    for (const std::size_t place : *up_to(3, rc::gen::arbitrary<std::size_t>())) {
      if (!bytes.empty()) bytes[place % bytes.size()] ^= *rc::gen::inRange<std::uint8_t>(1, 255);
    }
    check_read_or_refused(name, bytes, message.n, message.count());
  }
}

}  // namespace
}  // namespace thinpipe::trainer
