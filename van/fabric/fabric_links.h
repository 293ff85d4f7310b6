// SPDX-License-Identifier: Apache-2.0
// The links of a transport: by number, by the line over which they were made, and in the order in
// which they get their turns.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "van/fabric/link.h"

namespace stretto::fabric {

/// Thread: loop. Links stay where they are until they are erased.
class FabricLinks {
 public:
  using Map = std::unordered_map<LinkId, std::unique_ptr<FabricLink>>;

  /// With a number that no link has had, and a secret of its own. `line` 0: it has none yet.
  FabricLink& make(ConnectionId line, std::size_t queue_frames);
  void set_line(FabricLink& link, ConnectionId line);
  void erase(FabricLink& link);

  /// Null: there is none any more.
  FabricLink* find(LinkId id) const;
  FabricLink* find_by_line(ConnectionId line) const;
  const Map& all() const { return links_; }

  /// It needs attention: it gets a turn after those that do already.
  void touch(FabricLink& link);
  /// Whose turns are to come.
  const std::deque<LinkId>& busy() const { return busy_; }
  /// The first of them, which is touched no more. There must be one.
  FabricLink& next();

 private:
  Map links_;
  std::unordered_map<ConnectionId, LinkId> by_line_;
  std::deque<LinkId> busy_;
  LinkId last_ = 0;
};

}  // namespace stretto::fabric
