// How deepreduce writes down the places of a sparse message, which may come to stand for other places than
// were given.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainer/philox.hh"

namespace thinpipe::trainer {

class PlaceCode {
 public:
  PlaceCode() = default;
  virtual ~PlaceCode() = default;
  PlaceCode(const PlaceCode&) = delete;
  PlaceCode& operator=(const PlaceCode&) = delete;
  PlaceCode(PlaceCode&&) = delete;
  PlaceCode& operator=(PlaceCode&&) = delete;

  // Of `count` places below n.
  virtual std::int64_t bytes(std::int64_t count) const = 0;

  // How many values then follow: `count`, unless the places stand for more.
  virtual std::int64_t most_values(std::int64_t /*n*/, std::int64_t count) const { return count; }
  virtual std::int64_t expected_values(std::int64_t /*n*/, std::int64_t count) const { return count; }
  virtual bool has_fixed_count() const { return true; }

  // Whether places are read in the order in which they were written; else in ascending order.
  virtual bool keeps_order() const { return false; }

  // Writes `indices`; returns the places whose values are to follow. stream: the sender's, for a random
  // choice.
  virtual std::vector<std::uint32_t> append(std::span<const std::uint32_t> indices, std::uint32_t n,
                                            const RandomStream& stream,
                                            std::vector<std::uint8_t>& out) const = 0;

  // What append() of `count` indices returned; `in` is left with the bytes after it. All are different and
  // below n. Throws CollectiveError where the bytes say otherwise.
  virtual std::vector<std::uint32_t> read(std::span<const std::uint8_t>& in, std::uint32_t n,
                                          std::uint32_t count, const RandomStream& stream) const = 0;
};

//   plain     4 bytes each
//   bloom_p0  a Bloom filter; what it takes for a member besides is sent too: more of acc
//   bloom_p1  a Bloom filter; of all that it takes for members, as many as there are, at random
//   bloom_p2  the same, first those that alone account for a bit of it
std::unique_ptr<PlaceCode> make_place_code(const std::string& name, double false_positive_rate);
std::vector<std::string> place_code_names();

}  // namespace thinpipe::trainer
