// SPDX-License-Identifier: Apache-2.0
// thinpipe advise for a number of parameters, with the real trainer's formulas of bytes.
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

TEST(AdviseParameters, TheUsualMethodsAreKnownAndTheirBytesProportional) {
  const Program program(built_program("thinpipe-trainer"));
  const auto methods = [&program](const std::string& parameters) {
    const auto ended =
        program.run({"advise", "three-switch", "--parameters", parameters, "--compute", "120 ms", "--json"});
    EXPECT_EQ(ended.status.code, 0) << ended.errors;
    return Json::parse(ended.output).at("methods");
  };
  const Json small = methods("1e6");
  const Json large = methods("1e7");
  ASSERT_EQ(small.size(), 10);
  EXPECT_EQ(small.at(0).at("payload_bytes_per_iteration"), 4e6);
  for (std::size_t i = 0; i < small.size(); ++i) {
    const Json& method = small.at(i);
    EXPECT_FALSE(method.at("encode_s").is_null()) << method.at("method") << " has not been measured";
    for (const char* key : {"payload_bytes_per_iteration", "sent_bytes_per_iteration", "exchange_time_s"}) {
      const auto bytes = method.at(key).get<double>();
      EXPECT_NEAR(large.at(i).at(key).get<double>(), 10 * bytes, 1e-9 * bytes)
          << method.at("method") << ' ' << key;
    }
  }
}

TEST(AdviseParameters, TheMeasuredMethodsAreKnownWithTheirDefaults) {
  const Program program(built_program("thinpipe-trainer"));
  const auto ended = program.run(
      {"advise", "three-switch", "--parameters", "1e6", "--compute", "120 ms", "--json", "--methods",
       "topk ratio=0.1 indices=bitmap,topk ratio=0.01 indices=golomb,terngrad exchange=all_reduce,qsgd,"
       "thc exchange=sharded,signsgd exchange=all_gather,one_bit,"
       "dgc optimiser.name=sgd optimiser.momentum=0,gmc optimiser.name=sgd optimiser.momentum=0,iwp,topk_chunked,spardl,"
       "powersgd,demo optimiser.name=sgd optimiser.momentum=0"});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json methods = Json::parse(ended.output).at("methods");
  EXPECT_EQ(methods.size(), 16) << "with dense and fp16";
  for (const Json& method : methods)
    EXPECT_FALSE(method.at("encode_s").is_null()) << method.at("synchroniser");
}

}  // namespace
}  // namespace thinpipe
