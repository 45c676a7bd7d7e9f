#include "trainer/commands/worker.hh"

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

Membership member_with(const Json& parents) {
  const Json json = {{"rank", 1},
                     {"world_size", 4},
                     {"address", "127.0.0.1"},
                     {"rendezvous_directory", "/tmp/rendezvous"},
                     {"parents", parents}};
  JsonObject object(json, {"worker.json", ""});
  Membership membership;
  read_membership(object, membership);
  object.finish();
  return membership;
}

std::string refusal_of(const Json& parents) {
  try {
    member_with(parents);
    return "none";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(ReadMembership, TakesATreeOrNone) {
  EXPECT_EQ(member_with({2, 2, -1, 1}).parents, (std::vector<int>{2, 2, -1, 1}));
  EXPECT_TRUE(member_with(Json::array()).parents.empty());
}

TEST(ReadMembership, RefusesWhatIsNoTreeOfTheWorkers) {
  EXPECT_EQ(refusal_of({-1, 0, 0}),
            "worker.json at /parents: must have 4 entries, one per worker, but has 3");
  EXPECT_EQ(refusal_of({-1, 0, -1, 2}), "worker.json at /parents: has several roots, entries of -1");
  EXPECT_EQ(refusal_of({-1, 2, 3, 1}),
            "worker.json at /parents/1: does not lead to the root: the tree has a loop");
  EXPECT_EQ(refusal_of({1, 2, 3, 3}),
            "worker.json at /parents/0: does not lead to the root: the tree has a loop");
  EXPECT_NE(refusal_of({-1, 0, 0, 4}).find("/parents"), std::string::npos);
}

}  // namespace
}  // namespace thinpipe::trainer
