// SPDX-License-Identifier: Apache-2.0
// NewSite: where a process is started that comes in the place of another one: where that ran, or on
// which other host. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "tools/launch/plan/placement.h"

namespace stretto::launch {

/// The site of a member that has never run.
inline constexpr auto kNowhere = std::numeric_limits<std::size_t>::max();

/// What there is.
struct JobSites {
  const std::vector<JobMember>& members;
  const Placement& placement;                   ///< Of all members.
  const std::vector<std::string>& machines;     ///< What each site's host calls itself, by site.
  std::uint32_t servers = 1;                    ///< Places: `n` and `n + servers` have one.
  std::function<bool(std::size_t)> works;       ///< Processes can be started at this site.
  std::function<bool(std::size_t)> runs;        ///< This member does.
  std::function<bool(std::size_t)> hears = {};  ///< Orders to this site arrive, if late.
};

/// Processes can be started at this site, which may be the launcher's own.
bool is_usable(std::size_t site, const JobSites& sites);

/// For a server that is to have the place of `from`: on the host of this name; without one on
/// another host of the job than that of `from`, if there is one. InvalidArgument: there is no such
/// host, or nothing can be started there.
Result<std::size_t> site_to_move_to(const std::string& host, std::size_t from,
                                    const JobSites& sites);

/// For who comes for a member that is lost: where that ran; if that host is lost or leaves, a
/// worker where workers are, and the fewest run; a server on another host than that of the other
/// process of its place, if there is one. None: no host is left where orders arrive.
std::optional<std::size_t> site_instead_of(std::size_t lost, const JobSites& sites);

/// As which member one is that is started there: a worker of that site, or else this one.
std::size_t member_like(std::size_t site, std::size_t otherwise, const JobSites& sites);

/// Has `member` run at `site`, or else where site_instead_of() says, and as which of those that run
/// there. False: no host is left for it.
bool settle(std::size_t member, std::size_t instead_of, std::optional<std::size_t> site,
            const JobSites& sites, Placement& placement, std::vector<LocalRank>& ranks);

}  // namespace stretto::launch
