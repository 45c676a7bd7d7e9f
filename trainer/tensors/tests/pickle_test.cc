// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/pickle.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return out;
}

// Returns a value as Python would print it; calls as f(…).
std::string print(const PickleValue& value) {
  const auto list = [](const PickleSequence& sequence) {
    std::string out;
    for (const PickleValue* item : sequence.items) out += (out.empty() ? "" : ", ") + print(*item);
    return out;
  };
  if (const auto* boolean = value.as<bool>()) return *boolean ? "True" : "False";
  if (const auto* integer = value.as<std::int64_t>()) return std::to_string(*integer);
  if (const auto* real = value.as<double>()) return std::to_string(*real);
  if (const auto* text = value.as<std::string>()) return '"' + *text + '"';
  if (const auto* sequence = value.as<PickleSequence>()) return "[" + list(*sequence) + "]";
  if (const auto* dict = value.as<PickleDict>()) {
    std::string out;
    for (const auto& [key, member] : dict->items) {
      out += (out.empty() ? "" : ", ") + print(*key) + ": " + print(*member);
    }
    return "{" + out + "}";
  }
  if (const auto* global = value.as<PickleGlobal>()) return global->name;
  if (const auto* call = value.as<PickleCall>()) return print(*call->callee) + print(*call->arguments);
  if (const auto* reference = value.as<PickleReference>()) return "@" + print(*reference->id);
  return "other";
}

std::string read(const std::string& bytes) {
  return print(*read_pickle(bytes, "x.pt").root);
}

std::string refusal(const std::string& bytes) {
  try {
    return "accepted: " + read(bytes);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("x.pt is damaged or not a file of tensors"));
    return error.what();
  }
}

struct Case {
  std::string what;
  std::string hex;
  std::string printed;
};

class Pickles : public ::testing::TestWithParam<Case> {};

TEST_P(Pickles, HoldWhatPythonPutIn) {
  EXPECT_EQ(read(from_hex(GetParam().hex)), GetParam().printed);
}

// pickle.dumps(["ü", (1, -2, 300, 70000, 2**40, -2**40, 2**70), 1.5, None, True, False, [1, [2]], {1: {"x":
// ()}}, b"by", ()], protocol), and others.
const std::string everything =
    "[\"ü\", [1, -2, 300, 70000, 1099511627776, -1099511627776, other], 1.500000, other, True, False, "
    "[1, [2]], {1: {\"x\": []}}, ";

INSTANTIATE_TEST_SUITE_P(
    FromPython, Pickles,
    ::testing::Values(
        Case{"protocol2",
             "80025d7100285802000000c3bc7101284b014afeffffff4d2c014a701101008a060000000000018a060000000000ff"
             "8a09000000000000000040747102473ff80000000000004e88895d7103284b015d71044b0261657d71054b017d7106"
             "5801000000787107297373635f636f646563730a656e636f64650a710858020000006279710958060000006c617469"
             "6e31710a86710b52710c29652e",
             everything + "_codecs.encode[\"by\", \"latin1\"], []]"},
        Case{"protocol4",
             "80049561000000000000005d94288c02c3bc94284b014afeffffff4d2c014a701101008a060000000000018a060000"
             "000000ff8a090000000000000000407494473ff80000000000004e88895d94284b015d944b0261657d944b017d948c"
             "017894297373430262799429652e",
             everything + "other, []]"},
        Case{
            "protocol0",
            "286c70300a56fc0a70310a612849300a492d320a493330300a4937303030300a4c313039393531313632373737364c0a"
            "4c2d313039393531313632373737364c0a4c313138303539313632303731373431313330333432344c0a7470320a6146"
            "312e350a614e614930310a614930300a612e",
            "[\"ü\", [0, -2, 300, 70000, 1099511627776, -1099511627776, other], 1.500000, other, True, "
            "False]"},
        Case{"protocol1", "5d710028580100000061710158010000006271024b01652e", "[\"a\", \"b\", 1]"},
        Case{"persistent_text", "5028312c2032290a2e", "@\"(1, 2)\""},
        Case{"python2_text", "53276974205c2773205c783431270a2e", "\"it 's A\""},
        Case{"ordered_dict",
             "800263636f6c6c656374696f6e730a4f726465726564446963740a7100295271012858010000006171024b01580100"
             "00006271034b02752e",
             "{\"a\": 1, \"b\": 2}"},
        Case{"object",
             "80026361726770617273650a4e616d6573706163650a7100298171017d710258010000006171034b0173622e",
             "argparse.Namespace[]"},
        Case{"frozenset", "8004950600000000000000284b0191942e", "[1]"},
        Case{"bytearray", "8005950d000000000000009602000000000000007a7a942e", "other"}),
    [](const auto& test) { return test.param.what; });

TEST(Pickle, LeavesWhatFollowsAlone) {
  const Pickle pickle = read_pickle(from_hex("80024b072e4b08"), "x.pt");
  EXPECT_EQ(print(*pickle.root), "7");
  EXPECT_EQ(pickle.size, 5U);
}

TEST(PickleDict, FindsAMemberByName) {
  const Pickle pickle = read_pickle(from_hex("80027d285801000000614b014b02580100000061752e"), "x.pt");
  const auto* dict = pickle.root->as<PickleDict>();
  ASSERT_NE(dict, nullptr);
  ASSERT_NE(dict->find("a"), nullptr);
  EXPECT_EQ(print(*dict->find("a")), "1");
  EXPECT_EQ(dict->find("b"), nullptr);
}

TEST(Pickle, NoticesEveryTruncation) {
  const std::string bytes = from_hex("80025d7100285802000000c3bc7101284b014afeffffff74652e");
  EXPECT_EQ(refusal(bytes), "accepted: [\"ü\", [1, -2]]");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THAT(refusal(bytes.substr(0, length)), HasSubstr("it ends too early")) << length;
  }
}

TEST(Pickle, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal("\x80\x02."), HasSubstr("takes more from the stack"));
  EXPECT_THAT(refusal("0."), HasSubstr("takes more from the stack"));
  EXPECT_THAT(refusal("t."), HasSubstr("a missing mark"));
  EXPECT_THAT(refusal("h\x05."), HasSubstr("loads a value that it has not stored"));
  EXPECT_THAT(refusal("}(K\x01u."), HasSubstr("a key without a value"));
  EXPECT_THAT(refusal("K\x01(R."), HasSubstr("takes more from the stack"));  // not across a mark
  EXPECT_THAT(refusal("K\x01K\x02\x93."), HasSubstr("a function has no name"));
  EXPECT_THAT(refusal("i."), AllOf(HasSubstr("opcode 0x69"), HasSubstr("byte 1")));
  EXPECT_THAT(refusal(std::string("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", 10)), HasSubstr("ends too early"));
}

TEST(Pickle, RefusesTextsThatAreNone) {
  EXPECT_THAT(refusal("S'text\n."), HasSubstr("a text is malformed"));
  EXPECT_THAT(refusal("V\\u12\n."), HasSubstr("a text is malformed"));
  EXPECT_THAT(refusal("V\\ud800\n."), HasSubstr("a text is malformed"));
  EXPECT_THAT(refusal("I1x\n."), HasSubstr("a number is malformed"));
  EXPECT_THAT(refusal("L\n."), HasSubstr("a number is malformed"));
  EXPECT_THAT(refusal("F1.5.\n."), HasSubstr("a number is malformed"));
  EXPECT_THAT(refusal("gx\n."), HasSubstr("a number is malformed"));
  EXPECT_THAT(refusal("I1"), HasSubstr("ends too early"));
}

// Many dicts of the same pairs must not take more memory than the file's size.
TEST(Pickle, RefusesManyDictsOfOneList) {
  std::string bytes = "](";
  for (int i = 0; i < 100; ++i) bytes += "K\x01K\x02\x86";
  bytes +=
      "eq\x01"
      "0(";
  for (int i = 0; i < 100; ++i) bytes += "ccollections\nOrderedDict\nh\x01\x85R";
  EXPECT_THAT(refusal(bytes + "l."), HasSubstr("too many dicts from the same list"));
}

TEST(Pickle, KeepsTheStateThatACallIsGiven) {
  const Pickle pickle = read_pickle(std::string("capp\nNet\n)RK\x07"
                                                "b."),
                                    "x.pt");
  const auto* call = pickle.root->as<PickleCall>();
  ASSERT_NE(call, nullptr);
  ASSERT_NE(call->state, nullptr);
  EXPECT_EQ(print(*call->state), "7");
}

// A list that contains itself causes no leak and no endless loop.
TEST(Pickle, MayBeCircular) {
  const Pickle pickle = read_pickle(from_hex("80025d71006800612e"), "x.pt");
  const auto* list = pickle.root->as<PickleSequence>();
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->items.at(0), pickle.root);
}

// Whatever the damaged byte, the result is a value or an Error.
TEST(Pickle, SurvivesEveryDamagedByte) {
  const std::string bytes = from_hex(
      "800263636f6c6c656374696f6e730a4f726465726564446963740a7100295271012858010000006171024b0158010000006271"
      "034b02752e");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      try {
        read_pickle(damaged, "x.pt");
      } catch (const Error&) {
        continue;
      }
    }
  }
}

}  // namespace
}  // namespace thinpipe::trainer
