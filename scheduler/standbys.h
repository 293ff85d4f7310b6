// SPDX-License-Identifier: Apache-2.0
// Standbys: of a job whose servers have others that stand by for them, who does, which of them have
// all that is to be had, and whose places are free. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "common/config.h"
#include "core/view.h"
#include "scheduler/view_events.h"

namespace stretto {

/// Thread: loop.
class Standbys {
 public:
  explicit Standbys(const Config& config) : config_(config) {}

  /// A member that comes while the job gathers: its place, and whether it stands by, follow from
  /// the number that it has been admitted by.
  Member placed(Member member) const;
  /// It asks to stand by for who serves alone, in a job that runs: by which number; nothing if
  /// there is no such place, or it asks for another.
  std::optional<Rank> place_for(const Join& join, const View& view) const;
  /// The server that serves says that this one has all that it has.
  void ready(NodeId standby) { ready_.insert(standby); }
  bool is_ready(NodeId standby) const { return ready_.contains(standby); }
  /// This server is lost: who has its place now. Null if nobody can.
  const Member* heir(const Member& lost, const View& view) const;
  void lost(NodeId node) { ready_.erase(node); }
  /// Of two members that have no link to one another, the server that the job can go on without:
  /// one that stands by, or that another could take the place of. Null if there is none.
  const Member* spare_of(const Member& one, const Member& other, const View& view) const;
  /// Why nobody has the place, as an addition to why the job ends; empty where none stand by.
  std::string refusal(const Member& lost, const View& view) const;

 private:
  const Config& config_;
  std::set<NodeId> ready_;
};

}  // namespace stretto
