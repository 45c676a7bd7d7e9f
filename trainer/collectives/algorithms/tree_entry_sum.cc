#include <array>
#include <cstring>

#include "trainer/collectives/algorithms/incoming_blocks.hh"
#include "trainer/collectives/algorithms/pipelined.hh"

namespace thinpipe::trainer {
namespace {

// Bytes packed before sending: enough to be worth a call, and few enough for a cache.
constexpr std::size_t packed_at_a_time_bytes = std::size_t{64} << 10;

class TreeEntrySum {
 public:
  TreeEntrySum(std::span<float> vector, std::span<const std::uint32_t> places, const TreePlace& place)
      : vector_(vector), blocks_{vector.size()}, own_(blocks_, places) {
    // Otherwise -0 would become 0 if another worker adds to it, and stay -0 if none does.
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

  // Sends and receives as much as possible without waiting.
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
    EntryMap entries;                 // entries that have arrived from the peer
    std::vector<std::byte> out = {};  // packed blocks
    std::size_t sent = 0;             // number of bytes of it
    std::size_t packed = 0;           // number of blocks, to the end of `out`
    std::size_t sent_bytes = 0;       // total

    std::span<const std::byte> unsent() const { return std::span(out).subspan(sent); }
  };

  bool is_root() const { return children_ == ways_.size(); }
  Way& parent() { return ways_.back(); }
  std::span<Way> children() { return std::span(ways_).first(children_); }

  // Takes the peer's next block, which must be `block`, into the vector.
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

  // The parent gets the indices of all workers below it; a child gets those of all workers that are not below
  // it.
  void pack(Way& way, std::size_t block) {
    std::array<std::uint64_t, sparse_block_words> bits{};
    unite(bits, own_.of(block));
    for (const Way& other : ways_) {
      if (&other != &way) unite(bits, other.entries.of(block));
    }
    append_sparse_block(bits, blocks_.of(std::span<const float>(vector_), block), way.out);
  }

  void send(Way& way) {
    // The parent sends a block's final values only after it has received this worker's sums, whose memory
    // they overwrite.
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

  std::span<float> vector_;  // per block: first this worker's sums, then the final ones
  Blocks blocks_;
  EntryMap own_;
  std::vector<Way> ways_;     // to the children, then to the parent
  std::size_t children_ = 0;  // number of children
  std::size_t summed_ = 0;    // number of blocks to which all workers below have contributed
  std::size_t final_ = 0;     // number of blocks to which all workers have contributed
};

}  // namespace

std::vector<EdgeBytes> tree_entry_sum(std::span<float> vector, std::span<const std::uint32_t> places,
                                      const TreePlace& place, double timeout_s) {
  TreeEntrySum sum(vector, places, place);
  run_to_its_end(sum, timeout_s);
  return sum.edges();
}

}  // namespace thinpipe::trainer
