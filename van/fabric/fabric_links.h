// SPDX-License-Identifier: Apache-2.0
// The links of a transport: by id, by their line, and in the order of their turns.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "van/fabric/link.h"

namespace stretto::fabric {

/// Thread: loop. Links keep their addresses until they are erased.
class FabricLinks {
 public:
  using Map = std::unordered_map<LinkId, std::unique_ptr<FabricLink>>;

  /// A link with a new id and secret. `line` 0: it has none yet.
  FabricLink& make(ConnectionId line, std::size_t queue_frames);
  void set_line(FabricLink& link, ConnectionId line);
  void erase(FabricLink& link);

  /// Null if there is no such link.
  FabricLink* find(LinkId id) const;
  FabricLink* find_by_line(ConnectionId line) const;
  const Map& all() const { return links_; }

  /// Queues a turn for the link, unless one is queued.
  void touch(FabricLink& link);
  /// Links with a queued turn.
  const std::deque<LinkId>& busy() const { return busy_; }
  /// Removes and returns the first of them. There must be one.
  FabricLink& next();

 private:
  Map links_;
  std::unordered_map<ConnectionId, LinkId> by_line_;
  std::deque<LinkId> busy_;
  LinkId last_ = 0;
};

}  // namespace stretto::fabric
