// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/line_relay.hh"

#include <cstdio>
#include <memory>

#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

class Relayed {
 public:
  void write(std::string_view bytes) const { write_all(pipe_.write_end, bytes, "write"); }
  void relay() { relay_.relay(); }
  void finish() { relay_.finish(); }
  void close() { pipe_.write_end.reset(); }
  bool is_open() const { return static_cast<bool>(relay_.source()); }

  // Returns everything printed since the last call.
  std::string printed() {
    std::string out(static_cast<std::size_t>(std::ftell(target_.get())), '\0');
    std::rewind(target_.get());
    EXPECT_EQ(std::fread(out.data(), 1, out.size(), target_.get()), out.size());
    std::rewind(target_.get());
    return out;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  Pipe pipe_ = Pipe::create();
  std::unique_ptr<std::FILE, Close> target_{std::tmpfile()};
  LineRelay relay_{std::move(pipe_.read_end), "w0: ", target_.get()};
};

TEST(LineRelay, PrintsALineWhenItIsComplete) {
  Relayed relayed;
  relayed.write("one\ntw");
  relayed.relay();
  EXPECT_EQ(relayed.printed(), "w0: one\n");
  relayed.write("o\n\n");
  relayed.relay();
  EXPECT_EQ(relayed.printed(), "w0: two\nw0: \n");
}

TEST(LineRelay, PrintsAnIncompleteLineAtTheEnd) {
  Relayed relayed;
  relayed.write("one");
  relayed.relay();
  EXPECT_EQ(relayed.printed(), "");
  relayed.close();
  relayed.relay();
  EXPECT_EQ(relayed.printed(), "w0: one\n");
  EXPECT_FALSE(relayed.is_open());
}

TEST(LineRelay, DoesNotWaitForAWriterThatRemains) {
  Relayed relayed;
  relayed.write("one\ntwo");
  relayed.finish();
  EXPECT_EQ(relayed.printed(), "w0: one\nw0: two\n");
  EXPECT_FALSE(relayed.is_open());
}

TEST(LineRelay, ACarriageReturnEndsALine) {
  Relayed relayed;
  relayed.write("\r1 %\r2 %\r");
  relayed.relay();
  EXPECT_EQ(relayed.printed(), "w0: 1 %\n");
  relayed.write("\n");  // belongs to the carriage return before
  relayed.relay();
  EXPECT_EQ(relayed.printed(), "w0: 2 %\n");
  relayed.write("\r\n3 %\r");
  relayed.finish();
  EXPECT_EQ(relayed.printed(), "w0: \nw0: 3 %\n");
}

TEST(LineRelay, SplitsALineThatIsTooLong) {
  Relayed relayed;
  const std::string piece(std::size_t{1} << 15, 'x');
  for (std::size_t written = 0; written < LineRelay::max_line_bytes; written += piece.size()) {
    relayed.write(piece);
    relayed.relay();
  }
  relayed.write("end\n");
  relayed.relay();
  EXPECT_EQ(relayed.printed(), "w0: " + std::string(LineRelay::max_line_bytes, 'x') + "\nw0: end\n");
}

}  // namespace
}  // namespace thinpipe
