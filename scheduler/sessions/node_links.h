// SPDX-License-Identifier: Apache-2.0
// NodeLinks: by which link each node is reached, and when it was last heard. Pure.
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
  /// It is to come, and has no link yet.
  void expect(NodeId node, Time now) { ends_[node] = {.link = 0, .last_heard = now}; }
  /// It does not.
  void forget(NodeId node);
  bool is_expected(NodeId node) const {
    const auto found = ends_.find(node);
    return found != ends_.end() && found->second.link == 0;
  }
  /// So many have not come.
  std::size_t expected() const;
  /// Something came by this link: from whom; 0 if it is nobody's.
  NodeId heard(LinkId link, Time now);
  /// The link is no more: whose it was; 0 if nobody's.
  NodeId remove(LinkId link);

  /// 0 if it has none.
  LinkId of(NodeId node) const;
  std::vector<LinkId> all() const;
  /// Who has not been heard for longer than `limit`.
  std::vector<Silence> silent(Time now, Duration limit) const;
  /// We slept, and heard nobody: all were heard just now.
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
