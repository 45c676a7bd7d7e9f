// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/state_dict_index.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "trainer/tensors/legacy_file.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 255U);
  return out;
}

// Parts of a pickle in protocol 2.
std::string text(const std::string& value) {
  return "X" + little_endian(value.size(), 4) + value;
}

std::string integer(std::int64_t value) {
  return "\x8a\x08" + little_endian(static_cast<std::uint64_t>(value), 8);
}

std::string integers(const std::vector<std::int64_t>& values) {
  std::string out = "(";
  for (const std::int64_t value : values) out += integer(value);
  return out + "t";
}

struct View {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int64_t elements = 4;
  std::string key = "0";
  std::string metadata = "";
  std::string storage_class = "FloatStorage";
};

std::string tensor(const View& view) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + view.storage_class + "\n" +
         text(view.key) + text("cpu") + integer(view.elements) + "tQ" + integer(0) + integers(view.sizes) +
         integers(view.strides) + "\x89N" + view.metadata + "tR";
}

const std::string four = tensor({.sizes = {4}, .strides = {1}});

std::string dict(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out = "}(";
  for (const auto& [name, value] : members) out += text(name) + value;
  return out + "u";
}

StateDictIndex index_of(const std::string& object) {
  return index_state_dict(read_pickle("\x80\x02" + object + ".", "w.pt"), "w.pt");
}

std::string index_refusal(const std::string& object) {
  try {
    index_of(object);
    return "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("w.pt"));
    return error.what();
  }
}

std::vector<std::string> names(const StateDictIndex& index) {
  std::vector<std::string> out;
  for (const StoredTensor& tensor : index.tensors) out.push_back(tensor.name);
  return out;
}

TEST(StateDictIndex, HasShapesAndPlaces) {
  const StateDictIndex index =
      index_of(dict({{"w", tensor({.sizes = {2, 1}, .strides = {2, 1}})}, {"v", four}}));
  EXPECT_THAT(names(index), ElementsAre("w", "v"));
  EXPECT_EQ(index.under, "");
  const StoredTensor& tensor = index.tensors[0];
  EXPECT_EQ(tensor.storage.key, "0");
  EXPECT_EQ(tensor.storage.type.storage_class, "FloatStorage");
  EXPECT_EQ(tensor.storage.elements, 4);
  EXPECT_THAT(tensor.sizes, ElementsAre(2, 1));
  EXPECT_THAT(tensor.strides, ElementsAre(2, 1));
  EXPECT_FALSE(tensor.negated);
}

TEST(StateDictIndex, HonoursOrRefusesMetadata) {
  const auto marked = [](const std::string& members, const std::string& storage_class = "FloatStorage") {
    return dict(
        {{"w", tensor({.sizes = {4}, .strides = {1}, .metadata = members, .storage_class = storage_class})}});
  };
  EXPECT_TRUE(index_of(marked(dict({{"neg", "\x88"}}))).tensors[0].negated);
  EXPECT_FALSE(index_of(marked(dict({{"neg", "\x89"}, {"conj", "\x89"}}))).tensors[0].negated);
  EXPECT_FALSE(index_of(marked("N")).tensors[0].negated);
  EXPECT_THAT(index_refusal(marked(dict({{"conj", "\x88"}}))), HasSubstr("\"w\" is marked \"conj\""));
  EXPECT_THAT(index_refusal(marked(dict({{"neg", "\x88"}}), "BoolStorage")),
              HasSubstr("\"w\" is marked \"neg\""));
  EXPECT_THAT(index_refusal(marked(dict({{"scale", "G" + std::string(8, '\0')}}))),
              HasSubstr("unknown kind"));
  EXPECT_THAT(index_refusal(marked("]")), HasSubstr("metadata that is not a dict"));
  EXPECT_THAT(index_refusal(marked("NN")), HasSubstr("more parts than a plain tensor"));
  EXPECT_THAT(index_refusal(dict({{"w", four + "}b"}})), HasSubstr("changed after its creation"));
}

// {"w": call}, where call = _rebuild_parameter(*list) and the list holds call.
TEST(StateDictIndex, RefusesParametersInCircles) {
  EXPECT_THAT(index_refusal("}(" + text("w") +
                            std::string("ctorch._utils\n_rebuild_parameter\n]q\x01Rq\x02h\x01h\x02"
                                        "a0u")),
              HasSubstr("\"w\" is a parameter made of another parameter"));
}

TEST(StateDictIndex, RefusesViewsThatFillAMachine) {
  EXPECT_EQ(names(index_of(dict({{"w", tensor({.sizes = {1000, 4}, .strides = {0, 1}})}}))).size(), 1U);
  EXPECT_THAT(
      index_refusal(dict({{"w", tensor({.sizes = {1'000'000, 1'000'000}, .strides = {0, 0}})}})),
      AllOf(HasSubstr("\"w\" of shape [1000000, 1000000] repeats the 4 elements"), HasSubstr("w.pt")));
  // The same for many views, each of an accepted size.
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 20; ++i) {
    many.emplace_back(fmt::format("w{}", i), tensor({.sizes = {1 << 24}, .strides = {0}}));
  }
  EXPECT_THAT(index_refusal(dict(many)), HasSubstr("\"w16\""));
  EXPECT_THAT(index_refusal(dict({{"w", tensor({.sizes = {0, std::int64_t{1} << 40, std::int64_t{1} << 40},
                                                .strides = {0, 0, 0}})}})),
              HasSubstr("reaches beyond its storage"));
}

TEST(StateDictIndex, FindsTheOnlyDictOfTensorsUnderWhateverName) {
  const std::string state = dict({{"w", four}});
  const std::string three = "K\x03";
  EXPECT_EQ(index_of(dict({{"acc", three}, {"net", state}, {"epoch", three}})).under, "net");
  EXPECT_EQ(index_of(dict({{"checkpoint", dict({{"weights", state}})}})).under, "checkpoint.weights");
  const std::string figure = tensor({.sizes = {}, .strides = {}});
  EXPECT_EQ(index_of(dict({{"best", figure}, {"net", state}})).under, "net");
  EXPECT_EQ(index_of(dict({{"scale", figure}})).under, "");
  EXPECT_EQ(index_of(dict({{"net", state}, {"optimizer", dict({{"state", dict({{"w", four}})}})}})).under,
            "net");
  // One dict with two names counts once; a loss's tensors are not a second model.
  EXPECT_EQ(index_of(dict({{"best", state + "q\x01"}, {"last", "h\x01"}})).under, "best");
  EXPECT_EQ(index_of(dict({{"loss", dict({{"weight", four}})}, {"model", state}})).under, "model");
}

TEST(StateDictIndex, RefusesToChooseAndSaysAmongWhat) {
  const std::string state = dict({{"w", four}});
  EXPECT_THAT(
      index_refusal(dict({{"model", state}, {"model_ema", state}})),
      AllOf(HasSubstr("\"model\" (1 tensors), \"model_ema\" (1 tensors)"), HasSubstr("[\"model_ema\"]")));
  EXPECT_THAT(index_refusal(dict({{"generator", state}, {"critic", dict({{"v", four}})}})),
              HasSubstr("several dicts of tensors"));
  EXPECT_THAT(
      index_refusal(dict({{"acc", "K\x03"}, {"net", "capp\nNet\n)R"}, {"names", "]"}})),
      HasSubstr("contains no dict of tensors, but \"acc\" (a number), \"net\" (a Python object of app.Net), "
                "\"names\" (a sequence of 0)"));
  EXPECT_THAT(index_refusal(dict({{"a", four}, {"b", "K\x03"}})), HasSubstr("\"b\" is not a tensor"));
  EXPECT_THAT(index_refusal("capp\nNet\n)R"), HasSubstr("whole Python object (app.Net)"));
  EXPECT_THAT(index_refusal("]"), HasSubstr("not contain a dict of tensors, but a sequence of 0"));
}

// A dict that contains itself is searched once.
TEST(StateDictIndex, SurvivesDictsInCircles) {
  EXPECT_THAT(index_refusal("}q\x01(" + text("self") + "h\x01u"), HasSubstr("\"self\" (a dict of 1)"));
}

// Returns the output of torch.save(…, _use_new_zipfile_serialization=False), with the given
// version and byte order.
std::string legacy(const std::string& version = "M\xe9\x03", const std::string& order = "\x88") {
  const auto pickle = [](const std::string& object) { return "\x80\x02" + object + "."; };
  return pickle("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19") + pickle(version) +
         pickle(dict({{"little_endian", order}})) + pickle(dict({{"w", four}})) +
         pickle("](" + text("0") + "e") + little_endian(4, 8) + std::string(16, 'x');
}

std::string legacy_refusal(const std::string& bytes) {
  try {
    read_legacy_file(bytes, "w.pt");
    return "accepted";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(LegacyFile, HasElementsForEachStorage) {
  const std::string bytes = legacy();
  const LegacyFile file = read_legacy_file(bytes, "w.pt");
  EXPECT_THAT(names(file.index), ElementsAre("w"));
  const std::span<const char> elements = file.elements.at("0");
  EXPECT_EQ(std::string(elements.begin(), elements.end()), std::string(16, 'x'));
}

TEST(LegacyFile, SaysWhatIsUnsupported) {
  EXPECT_THAT(legacy_refusal(legacy("M\xea\x03")), HasSubstr("an unknown version"));
  EXPECT_THAT(legacy_refusal(legacy("M\xe9\x03", "\x89")), HasSubstr("a big-endian machine"));
  EXPECT_THAT(legacy_refusal(legacy("M\xe9\x03", "N")), HasSubstr("byte order"));
  EXPECT_THAT(legacy_refusal(legacy().substr(0, legacy().size() - 1)), HasSubstr("ends too early"));
}

TEST(LegacyFile, IsKnownByItsBeginningInEveryProtocol) {
  const std::string magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  EXPECT_TRUE(begins_as_legacy_file("L119547037146038801333356L\n.L1001L\n."));
  for (const char protocol : {'\x02', '\x03'}) {
    EXPECT_TRUE(begins_as_legacy_file(std::string("\x80") + protocol + magic + "."));
  }
  for (const char protocol : {'\x04', '\x05'}) {
    EXPECT_TRUE(
        begins_as_legacy_file(std::string("\x80") + protocol + "\x95" + little_endian(13, 8) + magic + "."));
  }
  EXPECT_FALSE(begins_as_legacy_file("\x80\x02}q."));
  EXPECT_FALSE(begins_as_legacy_file(magic));
  EXPECT_FALSE(begins_as_legacy_file(""));
}

}  // namespace
}  // namespace thinpipe::trainer
