// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include "trainer/collectives/algorithms/incoming_blocks.hh"
#include "trainer/collectives/algorithms/pipelined.hh"

namespace thinpipe::trainer {
namespace {

// Bytes packed before sending: enough to be worth a call, and few enough for a cache.
constexpr std::size_t packed_at_a_time_bytes = std::size_t{64} << 10;

class TreeSparseAllReduce {
 public:
  TreeSparseAllReduce(std::span<float> vector, std::span<const std::uint32_t> indices,
                      const TreeNeighbours& neighbours)
      : vector_(vector), blocks_{vector.size()}, own_(blocks_, indices) {
    // Otherwise -0 would become 0 if another worker adds to it, and stay -0 if none does.
    for (const std::uint32_t at : indices) vector_[at] += 0.0F;
    const std::size_t chunk = chunk_of(sparse_bytes(blocks_, indices));
    for (Peer* const child : neighbours.children) connections_.emplace_back(*child, blocks_, chunk);
    children_ = connections_.size();
    if (neighbours.parent != nullptr) connections_.emplace_back(*neighbours.parent, blocks_, chunk);
  }

  bool done() const {
    return final_ == blocks_.count() && std::ranges::all_of(connections_, [&](const Connection& connection) {
             return connection.packed == blocks_.count() && connection.unsent().empty();
           });
  }

  // Sends and receives as much as possible without waiting.
  void progress(const PeerWait& wait) {
    for (Connection& connection : connections_) connection.in.receive(wait);
    while (summed_ < blocks_.count() && std::ranges::all_of(children(), [](const Connection& connection) {
             return connection.in.has_next();
           })) {
      for (Connection& child : children())
        take(child, summed_, [](float& sum, float value) { sum += value; });
      ++summed_;
    }
    while (final_ < summed_ && (is_root() || parent().in.has_next())) {
      if (!is_root()) take(parent(), final_, [](float& sum, float value) { sum = value; });
      ++final_;
    }
    for (Connection& connection : connections_) send(connection);
  }

  void await(PeerWait& wait) const {
    for (const Connection& connection : connections_) {
      connection.in.await(wait);
      if (!connection.unsent().empty()) wait.to_send(*connection.peer);
    }
  }

  std::vector<EdgeBytes> edges() const {
    std::vector<EdgeBytes> out;
    for (const Connection& connection : connections_) {
      out.push_back({.neighbour = connection.peer->rank(),
                     .sent = static_cast<std::int64_t>(connection.sent_bytes),
                     .received = static_cast<std::int64_t>(connection.in.received_bytes())});
    }
    std::ranges::sort(out);
    return out;
  }

 private:
  struct Connection {
    Connection(Peer& to, Blocks blocks, std::size_t chunk_bytes)
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

  bool is_root() const { return children_ == connections_.size(); }
  Connection& parent() { return connections_.back(); }
  std::span<Connection> children() { return std::span(connections_).first(children_); }

  // Takes the peer's next block, which must be `block`, into the vector.
  void take(Connection& connection, std::size_t block, const auto& into) {
    const std::span<float> elements = blocks_.of(vector_, block);
    const std::byte* next =
        read_sparse_block(connection.in.take_next(), elements.size(), connection.entries.of(block)).data();
    for_each_entry(connection.entries.of(block), [&](std::size_t index) {
      float value = 0;
      std::memcpy(&value, next, sizeof value);
      next += sizeof value;
      into(elements[index], value);
    });
  }

  // The parent gets the indices of all workers below it; a child gets those of all workers that are not below
  // it.
  void pack(Connection& connection, std::size_t block) {
    std::array<std::uint64_t, sparse_block_words> bits{};
    unite(bits, own_.of(block));
    for (const Connection& other : connections_) {
      if (&other != &connection) unite(bits, other.entries.of(block));
    }
    append_sparse_block(bits, blocks_.of(std::span<const float>(vector_), block), connection.out);
  }

  void send(Connection& connection) {
    // The parent sends a block's final values only after it has received this worker's sums, whose memory
    // they overwrite.
    const bool goes_up = !is_root() && &connection == &parent();
    const std::size_t ready = goes_up ? summed_ : final_;
    while (true) {
      if (connection.unsent().empty()) {
        connection.out.clear();
        connection.sent = 0;
        while (connection.packed < ready && connection.out.size() < packed_at_a_time_bytes)
          pack(connection, connection.packed++);
        if (connection.out.empty()) return;
      }
      const std::size_t sent = connection.peer->send(connection.unsent());
      if (sent == 0) return;
      connection.sent += sent;
      connection.sent_bytes += sent;
    }
  }

  std::span<float> vector_;  // per block: first this worker's sums, then the final ones
  Blocks blocks_;
  EntryMap own_;
  std::vector<Connection> connections_;  // to the children, then to the parent
  std::size_t children_ = 0;             // number of children
  std::size_t summed_ = 0;               // number of blocks to which all workers below have contributed
  std::size_t final_ = 0;                // number of blocks to which all workers have contributed
};

}  // namespace

std::vector<EdgeBytes> tree_sparse_all_reduce(std::span<float> vector, std::span<const std::uint32_t> indices,
                                              const TreeNeighbours& neighbours, double timeout_s) {
  TreeSparseAllReduce sum(vector, indices, neighbours);
  run_to_completion(sum, timeout_s);
  return sum.edges();
}

}  // namespace thinpipe::trainer
