// SPDX-License-Identifier: Apache-2.0
// That a member's process has ended, in the words by which a launcher tells the scheduler: a line
// each, over the descriptor by which that says where it listens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/config/config.h"

namespace stretto {

/// The launcher's first line: it reports every exit, so all other members live.
inline constexpr std::string_view kEndsAreTold = "ends are told";

/// The same: no time limit was given for members to join, so each has as long as its process runs.
inline constexpr std::string_view kJoinsUnlimited = "members may join at any time";

/// The same: a checkpoint is wanted as soon as one can be made, as the job is about to lose a host.
inline constexpr std::string_view kSaveWanted = "a checkpoint is wanted";

struct MemberExit {
  Role role = Role::kWorker;
  std::uint32_t rank = 0;

  friend bool operator==(const MemberExit&, const MemberExit&) = default;
};

/// "worker 3 has ended".
std::string line_of(const MemberExit& end);
/// None: those are no words of a launcher's.
std::optional<MemberExit> member_end_named(std::string_view line);

}  // namespace stretto
