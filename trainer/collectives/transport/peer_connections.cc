// SPDX-License-Identifier: Apache-2.0
// connect_peers(): each worker listens and announces its address through the group.
#include "trainer/collectives/transport/peer_connections.hh"

#include <cstring>
#include <utility>

#include "trainer/collectives/transport/peer_sockets.hh"

namespace thinpipe::trainer {
namespace {

using Notice = PeerListener::Notice;

std::vector<Notice> all_gather_notices(Collective& group, const Notice& own) {
  torch::Tensor bytes = torch::empty(static_cast<std::int64_t>(sizeof own), torch::kUInt8);
  std::memcpy(bytes.data_ptr(), &own, sizeof own);
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(group.world_size()), bytes.numel());
  const torch::Tensor all = group.all_gather_v(bytes, counts);
  std::vector<Notice> notices(counts.size());
  std::memcpy(notices.data(), all.data_ptr(), all.nbytes());
  return notices;
}

}  // namespace

std::map<int, Peer> connect_peers(Collective& group, const std::string& address,
                                  const std::vector<int>& peers, double timeout_s) {
  const auto secret = run_token_of_environment();
  const PeerListener listener({.address = address, .secret = secret});
  const std::vector<Notice> notices = all_gather_notices(group, listener.notice());
  std::map<int, Peer> out;
  for (auto& [rank, connection] : connect_sockets(listener, secret, notices, group.rank(), peers, timeout_s))
    out.emplace(rank, Peer(rank, std::move(connection)));
  return out;
}

}  // namespace thinpipe::trainer
