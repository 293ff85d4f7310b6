// SPDX-License-Identifier: Apache-2.0
// LinkLives: a Van's links, how far each has come (it came, said hello, was admitted or refused),
// and the session that each carries.
#pragma once

#include <map>
#include <vector>

#include "van/session.h"
#include "van/unsettled_links.h"

namespace stretto {

struct LinkState {
  Session session;
  bool ours = false;     ///< We connected.
  bool greeted = false;  ///< The handler knows of it.
  bool admitted = false;
  bool visits = false;   ///< Its end is nobody's loss.
  bool closing = false;  ///< Refused: ends when its fault has left.
  bool owing = false;    ///< Is among the debts.
};

/// Thread: loop. Pure.
class LinkLives {
 public:
  /// Null if there is none.
  LinkState* find(LinkId id) {
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : &found->second;
  }
  const LinkState* find(LinkId id) const {
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : &found->second;
  }
  /// One of ours has been greeted by our hello.
  void add(LinkId id, bool ours, Time now);
  void greet(LinkId id, LinkState& link);
  /// False if it is not there, or has been admitted before.
  bool admit(LinkId id, NodeId peer, bool visits);
  void refuse(LinkId id, LinkState& link, Time now);
  void remove(LinkId id);

  bool empty() const { return links_.empty(); }
  LinkId first() const { return links_.begin()->first; }
  UnsettledLinks& unsettled() { return unsettled_; }
  const UnsettledLinks& unsettled() const { return unsettled_; }

 private:
  std::map<LinkId, LinkState> links_;
  UnsettledLinks unsettled_;
};

}  // namespace stretto
