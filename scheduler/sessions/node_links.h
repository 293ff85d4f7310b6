// SPDX-License-Identifier: Apache-2.0
// NodeLinks: the link of each node, and when the node was last heard. Pure.
#pragma once

#include <map>
#include <vector>

#include "stretto/types.h"
#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class NodeLinks {
 public:
  struct Silence {
    NodeId node = 0;
    Duration lasts = {};
  };

  void add(NodeId node, LinkId link, Time now);
  /// The node must re-register, and has no link yet.
  void expect(NodeId node, Time now) { ends_[node] = {.link = 0, .last_heard = now}; }
  /// The node will not come.
  void forget(NodeId node);
  bool is_expected(NodeId node) const {
    const auto found = ends_.find(node);
    return found != ends_.end() && found->second.link == 0;
  }
  /// Number of nodes yet to re-register.
  std::size_t expected() const;
  /// A message came over this link: returns its node; 0: none.
  NodeId heard(LinkId link, Time now);
  /// The link has ended: returns its node; 0: none.
  NodeId remove(LinkId link);

  /// 0 if it has none.
  LinkId of(NodeId node) const;
  std::vector<LinkId> all() const;
  /// Nodes that have been silent for longer than `limit`.
  std::vector<Silence> silent(Time now, Duration limit) const;
  /// This process slept and received no messages: counts all nodes as heard just now.
  void forgive(Time now);

 private:
  struct End {
    LinkId link = 0;
    Time last_heard;
  };
  std::map<NodeId, End> ends_;
  std::map<LinkId, NodeId> nodes_;
};

}  // namespace stretto
