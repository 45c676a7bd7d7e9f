#include <array>
#include <cstring>

#include "trainer/collectives/incoming_blocks.hh"
#include "trainer/collectives/pipelined.hh"

namespace thinpipe::trainer {
namespace {

// What is packed before it is sent: worth a call, and still in a cache.
constexpr std::size_t packed_at_a_time_bytes = std::size_t{64} << 10;

class TreeEntrySum {
 public:
  TreeEntrySum(std::span<float> vector, std::span<const std::uint32_t> places, const TreePlace& place)
      : vector_(vector), blocks_{vector.size()}, own_(blocks_, places) {
    // -0 would become 0 where someone adds to it, and stay what it is where nobody does.
    for (const std::uint32_t at : places) vector_[at] += 0.0F;
    const std::size_t chunk = chunk_of(sparse_bytes(blocks_, places));
    for (Peer* const child : place.children) ways_.emplace_back(*child, blocks_, chunk);
    children_ = ways_.size();
    if (place.parent != nullptr) ways_.emplace_back(*place.parent, blocks_, chunk);
  }

  bool done() const {
    return final_ == blocks_.count() && std::ranges::all_of(ways_, [&](const Way& way) {
             return way.packed == blocks_.count() && way.unsent().empty();
           });
  }

  // As far as it goes without waiting.
  void go_on(const PeerWait& wait) {
    for (Way& way : ways_) way.in.receive(wait);
    while (summed_ < blocks_.count() &&
           std::ranges::all_of(children(), [](const Way& way) { return way.in.has_next(); })) {
      for (Way& child : children()) take(child, summed_, [](float& sum, float value) { sum += value; });
      ++summed_;
    }
    while (final_ < summed_ && (is_root() || parent().in.has_next())) {
      if (!is_root()) take(parent(), final_, [](float& sum, float value) { sum = value; });
      ++final_;
    }
    for (Way& way : ways_) send(way);
  }

  void await(PeerWait& wait) const {
    for (const Way& way : ways_) {
      way.in.await(wait);
      if (!way.unsent().empty()) wait.to_send(*way.peer);
    }
  }

  std::vector<EdgeBytes> edges() const {
    std::vector<EdgeBytes> out;
    for (const Way& way : ways_) {
      out.push_back({.neighbour = way.peer->rank(),
                     .sent = static_cast<std::int64_t>(way.sent_bytes),
                     .received = static_cast<std::int64_t>(way.in.received_bytes())});
    }
    std::ranges::sort(out);
    return out;
  }

 private:
  struct Way {
    Way(Peer& to, Blocks blocks, std::size_t chunk_bytes)
        : peer(&to), in(to, blocks, chunk_bytes), entries(blocks) {}

    Peer* peer;
    IncomingBlocks in;
    EntryMap entries;                 // that have come from there
    std::vector<std::byte> out = {};  // packed blocks
    std::size_t sent = 0;             // bytes of them
    std::size_t packed = 0;           // blocks, up to their end
    std::size_t sent_bytes = 0;       // of all

    std::span<const std::byte> unsent() const { return std::span(out).subspan(sent); }
  };

  bool is_root() const { return children_ == ways_.size(); }
  Way& parent() { return ways_.back(); }
  std::span<Way> children() { return std::span(ways_).first(children_); }

  // Its next block, the given one, into the vector.
  void take(Way& way, std::size_t block, const auto& into) {
    const std::span<float> elements = blocks_.of(vector_, block);
    const std::byte* next =
        read_sparse_block(way.in.take_next(), elements.size(), way.entries.of(block)).data();
    for_each_entry(way.entries.of(block), [&](std::size_t place) {
      float value = 0;
      std::memcpy(&value, next, sizeof value);
      next += sizeof value;
      into(elements[place], value);
    });
  }

  // To the parent, what all below it have; to a child, what all others than those below it have.
  void pack(Way& way, std::size_t block) {
    std::array<std::uint64_t, sparse_block_words> bits{};
    unite(bits, own_.of(block));
    for (const Way& other : ways_) {
      if (&other != &way) unite(bits, other.entries.of(block));
    }
    append_sparse_block(bits, blocks_.of(std::span<const float>(vector_), block), way.out);
  }

  void send(Way& way) {
    // A block's final values come from the parent once it has this worker's sums, which lie in their place.
    const bool goes_up = !is_root() && &way == &parent();
    const std::size_t ready = goes_up ? summed_ : final_;
    while (true) {
      if (way.unsent().empty()) {
        way.out.clear();
        way.sent = 0;
        while (way.packed < ready && way.out.size() < packed_at_a_time_bytes) pack(way, way.packed++);
        if (way.out.empty()) return;
      }
      const std::size_t sent = way.peer->send(way.unsent());
      if (sent == 0) return;
      way.sent += sent;
      way.sent_bytes += sent;
    }
  }

  std::span<float> vector_;  // in each block first this worker's sum, then everyone's
  Blocks blocks_;
  EntryMap own_;
  std::vector<Way> ways_;     // the children's, then the parent's
  std::size_t children_ = 0;  // of them
  std::size_t summed_ = 0;    // blocks to which all below have contributed
  std::size_t final_ = 0;     // blocks to which all have
};

}  // namespace

std::vector<EdgeBytes> tree_entry_sum(std::span<float> vector, std::span<const std::uint32_t> places,
                                      const TreePlace& place, double timeout_s) {
  TreeEntrySum sum(vector, places, place);
  run_to_its_end(sum, timeout_s);
  return sum.edges();
}

}  // namespace thinpipe::trainer
