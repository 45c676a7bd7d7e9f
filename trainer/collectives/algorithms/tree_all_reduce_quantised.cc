// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "common/protocol/call.hh"
#include "trainer/base/packed_codes.hh"
#include "trainer/collectives/algorithms/pipelined.hh"

namespace thinpipe::trainer {
namespace {

// Codes packed at a time: enough for a few calls to send(), and few enough for a cache.
constexpr std::size_t block_codes = std::size_t{1} << 16;
static_assert(block_codes % codes_in_group == 0 && block_codes % CodeChunks::granule == 0);

class TreeAllReduceQuantised {
 public:
  TreeAllReduceQuantised(std::span<std::int8_t> codes, int largest, const CodeChunks& chunks,
                         const std::vector<Branch>& branches)
      : codes_(codes),
        chunks_(chunks),
        sum_(std::min(codes.size(), block_codes)),
        part_(sum_.size()),
        produced_(chunks.produce ? 0 : codes.size()) {
    const auto world_size =
        std::accumulate(branches.begin(), branches.end(), std::size_t{1},
                        [](std::size_t n, const Branch& b) { return n + b.ranks.size(); });
    for (const Branch& branch : branches) {
      const auto behind = static_cast<std::int64_t>(branch.ranks.size());
      Connection& connection = connections_.emplace_back(
          Connection{.peer = branch.peer,
                     .bits_in = bits_of_code_sum(behind, largest),
                     .bits_out = bits_of_code_sum(static_cast<std::int64_t>(world_size) - behind, largest)});
      connection.in.resize(packed_bytes(codes.size(), connection.bits_in));
      connection.chunk = chunk_of(connection.in.size());
    }
  }

  bool done() const {
    return final_ == codes_.size() && std::ranges::all_of(connections_, &Connection::all_sent);
  }

  // Sends and receives as much as possible without waiting.
  void progress(const PeerWait& wait) {
    for (Connection& connection : connections_) {
      if (!wait.can_receive(*connection.peer)) continue;
      connection.received += connection.peer->receive(
          std::as_writable_bytes(std::span(connection.in).subspan(connection.received)));
    }
    for (Connection& connection : connections_) send(connection);
    finish();
  }

  void await(PeerWait& wait) {
    for (Connection& connection : connections_) {
      if (const std::size_t remaining = connection.in.size() - connection.received; remaining > 0) {
        connection.peer->wake_at(std::min(remaining, connection.chunk));
        wait.to_receive(*connection.peer);
      }
      if (!connection.unsent().empty()) wait.to_send(*connection.peer);
    }
  }

 private:
  struct Connection {
    Peer* peer;
    int bits_in;
    int bits_out;
    std::vector<std::uint8_t> in = {};  // the packed sums of the workers behind the peer
    std::size_t received = 0;           // number of bytes
    std::size_t chunk = 0;
    std::vector<std::uint8_t> out = {};  // a packed block of the sums of all other workers
    std::size_t sent = 0;                // number of bytes of it
    std::size_t packed = 0;              // number of codes, to the end of that block
    bool all_sent = false;

    std::span<const std::uint8_t> unsent() const { return std::span(out).subspan(sent); }
  };

  static std::size_t packed_bytes(std::size_t codes, int bits) {
    return static_cast<std::size_t>(packed_code_bytes(static_cast<std::int64_t>(codes), bits));
  }

  // Returns the number of codes received in whole groups.
  std::size_t arrived(const Connection& connection) const {
    if (connection.received == connection.in.size()) return codes_.size();
    return connection.received / static_cast<std::size_t>(connection.bits_in) * codes_in_group;
  }

  // Returns how many codes have arrived from every peer except that of `but`.
  std::size_t summable(const Connection* but) const {
    std::size_t least = codes_.size();
    for (const Connection& connection : connections_) {
      if (&connection != but) least = std::min(least, arrived(connection));
    }
    return least;
  }

  // Sums this worker's codes and those from every peer except that of `but`.
  std::span<std::int8_t> sum(std::size_t begin, std::size_t count, const Connection* but) {
    const std::span<std::int8_t> sum = std::span(sum_).first(count);
    const std::span<std::int8_t> part = std::span(part_).first(count);
    std::ranges::copy(codes_.subspan(begin, count), sum.begin());
    for (const Connection& connection : connections_) {
      if (&connection == but) continue;
      unpack_codes(
          std::span(connection.in)
              .subspan(packed_bytes(begin, connection.bits_in), packed_bytes(count, connection.bits_in)),
          connection.bits_in, part);
      add(sum, part);
    }
    return sum;
  }

  static void add(std::span<std::int8_t> sum, std::span<const std::int8_t> part) {
    std::int8_t* __restrict into = sum.data();
    const std::int8_t* __restrict from = part.data();
    for (std::size_t i = 0; i < sum.size(); ++i) into[i] = static_cast<std::int8_t>(into[i] + from[i]);
  }

  void send(Connection& connection) {
    const std::size_t ready = summable(&connection);
    while (true) {
      if (connection.unsent().empty()) {
        connection.all_sent = connection.packed == codes_.size();
        if (connection.packed == ready) return;
        const std::size_t count = std::min(block_codes, ready - connection.packed);
        produce_until(connection.packed + count);
        connection.out.resize(packed_bytes(count, connection.bits_out));
        pack_codes(sum(connection.packed, count, &connection), connection.bits_out, connection.out);
        connection.packed += count;
        connection.sent = 0;
      }
      const std::size_t sent = connection.peer->send(std::as_bytes(connection.unsent()));
      if (sent == 0) return;
      connection.sent += sent;
    }
  }

  void produce_until(std::size_t end) {
    for (std::size_t begin = produced_; begin < end; begin = produced_) {
      produced_ = std::min(begin + block_codes, codes_.size());
      chunks_.produce(begin, produced_);
    }
  }

  // Finishes the codes that have arrived from all peers and for which every peer has been sent its sum.
  void finish() {
    std::size_t until = summable(nullptr);
    for (const Connection& connection : connections_) until = std::min(until, connection.packed);
    while (final_ < until) {
      const std::size_t count = std::min(block_codes, until - final_);
      produce_until(final_ + count);
      std::ranges::copy(sum(final_, count, nullptr), codes_.subspan(final_).begin());
      if (chunks_.consume) chunks_.consume(final_, final_ + count);
      final_ += count;
    }
  }

  std::span<std::int8_t> codes_;
  const CodeChunks& chunks_;
  std::vector<std::int8_t> sum_;
  std::vector<std::int8_t> part_;
  std::vector<Connection> connections_;
  std::size_t produced_;  // number of codes
  std::size_t final_ = 0;
};

}  // namespace

void tree_all_reduce_quantised(std::span<std::int8_t> codes, int largest, const CodeChunks& chunks,
                               const std::vector<Branch>& branches, double timeout_s) {
  run_to_completion(TreeAllReduceQuantised(codes, largest, chunks, branches), timeout_s);
}

double tree_all_reduce_quantised_sent_bytes(std::int64_t codes, int largest,
                                            const std::vector<int>& parents) {
  const std::int64_t world_size = std::ssize(parents);
  std::vector<std::int64_t> below(parents.size(), 0);  // number of workers: each and all behind it
  for (int rank = 0; rank < world_size; ++rank) {
    for (int at = rank; at >= 0; at = parents[static_cast<std::size_t>(at)])
      ++below[static_cast<std::size_t>(at)];
  }
  std::int64_t bytes = 0;
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    if (parents[rank] < 0) continue;
    for (const std::int64_t workers : {below[rank], world_size - below[rank]})
      bytes += packed_code_bytes(codes, bits_of_code_sum(workers, largest));
  }
  return static_cast<double>(bytes) / static_cast<double>(world_size);
}

}  // namespace thinpipe::trainer
