// SPDX-License-Identifier: Apache-2.0
// Independent and identically distributed: in each epoch, all workers divide one permutation of all examples.
#include "trainer/datasets/partitions/partition.hh"

namespace thinpipe::trainer {
namespace {

class Iid : public Partition {
 public:
  DividedBy divided_by() const override { return DividedBy::nothing; }

  std::optional<Parts> divide(const std::vector<std::int64_t>& /*keys*/, std::int64_t /*workers*/,
                              std::uint64_t /*seed*/) const override {
    return std::nullopt;
  }
};

THINPIPE_REGISTER(Partition){"iid", "all workers share all examples, and divide them anew in each epoch",
                             Json::array(), [](JsonObject&) { return std::make_unique<Iid>(); }};

}  // namespace
}  // namespace thinpipe::trainer
