// SPDX-License-Identifier: Apache-2.0
// Bookkeeping only; a socket closes with its Descriptor.
#include "van/shm/pending_peers.h"

#include "common/clock.h"
#include "common/log.h"

namespace stretto::shm {

LinkId PendingPeers::add(LinkId id, Descriptor socket) {
  waiting_[id] = {std::move(socket), SteadyClock().now()};
  return waiting_.size() > options_.max_silent ? waiting_.begin()->first : 0;
}

std::optional<Descriptor> PendingPeers::take(LinkId id) {
  auto node = waiting_.extract(id);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped().socket);
}

std::vector<LinkId> PendingPeers::expired() const {
  std::vector<LinkId> ids;
  if (waiting_.empty()) return ids;
  const Time oldest = SteadyClock().now() - options_.handshake_timeout;
  for (const auto& [id, stranger] : waiting_) {
    if (stranger.since > oldest) break;
    ids.push_back(id);
  }
  return ids;
}

void PendingPeers::note_refused(const Status& why) {
  if (!refused_.add()) return;
  log(Level::kWarning, "hung up on {} who connected by shared memory; the last: {}",
      refused_.events(), why.cause());
}

}  // namespace stretto::shm
