// SPDX-License-Identifier: Apache-2.0
// Standbys: of a job whose servers have others that stand by for them, who does, who can have a
// place, and which are free. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "core/view.h"
#include "scheduler/membership/view_events.h"
#include "stretto/status.h"

namespace stretto {

/// Thread: any.
class Standbys {
 public:
  explicit Standbys(const Config& config) : config_(config) {}

  /// A member that comes while the job gathers: its place, and whether it stands by, follow from
  /// the number that it has been admitted by.
  Member placed(Member member) const;
  /// Those that stand by do so for as long as the job lasts. False: until they have all, and with
  /// it the place.
  bool are_kept() const { return config_.job.replicated(); }
  /// Who stands by for this server, with all or not; null: nobody.
  static const Member* of(const Member& server, const View& view);
  /// It asks to stand by for who serves alone, in a job that runs: by which number; nothing if
  /// there is no such place, or it asks for another.
  std::optional<Rank> place_for(const Join& join, const View& view) const;
  /// Why it comes to nothing if nothing was found for it; nothing: others may say more.
  std::optional<Status> turned_away(const Join& join) const;
  /// All shards of this one's process, which is lost as a whole.
  static std::vector<Member> shards_of(const Member& server, const View& view);
  /// This server is lost: who has its place now, of a process whose shards all have all. Null if
  /// nobody can.
  const Member* heir(const Member& lost, const View& view) const;
  /// Why nobody has the place, as an addition to why the job ends; empty where none stand by.
  std::string refusal(const Member& lost, const View& view) const;

 private:
  const Config& config_;
};

/// A member says that this one has all that who serves its place has: that one itself, or who
/// stands by, as the other may be lost. Nothing if it is neither.
std::optional<StandbyCaughtUp> caught_by(const Member& teller, NodeId standby, const View& view);

/// Who has the place of a server that was lost, in words.
std::string successor_of(const Member& lost, const View& view);

}  // namespace stretto
