// SPDX-License-Identifier: Apache-2.0
// The site of a replacement process: that of the replaced process, or another host's. Pure.
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

/// State of the job's sites and members.
struct JobSites {
  const std::vector<JobMember>& members;
  const Placement& placement;                   ///< Of all members.
  const std::vector<std::string>& machines;     ///< Each host's own name, by site.
  std::uint32_t servers = 1;                    ///< Server ranks: `n` and `n + servers` share one.
  std::function<bool(std::size_t)> works;       ///< Processes can start at this site.
  std::function<bool(std::size_t)> runs;        ///< This member runs.
  std::function<bool(std::size_t)> hears = {};  ///< Orders reach this site, possibly late.
};

/// Processes can start at this site, which may be the launcher's own.
bool is_usable(std::size_t site, const JobSites& sites);

/// Site for the replacement of server `from`: the named host, or without a name another host of the
/// job if possible. InvalidArgument: there is no such host, or processes cannot start there.
Result<std::size_t> site_to_move_to(const std::string& host, std::size_t from,
                                    const JobSites& sites);

/// Site for the replacement of a lost member: the same host if it is usable. Otherwise a worker
/// goes to the worker host with the fewest workers, and a server to a host without the other
/// replica of its rank, if possible. None: orders reach no host.
std::optional<std::size_t> site_instead_of(std::size_t lost, const JobSites& sites);

/// The member that a process started there resembles: a worker of that site, else `otherwise`.
std::size_t member_like(std::size_t site, std::size_t otherwise, const JobSites& sites);

/// Assigns `member` to `site`, or to that of site_instead_of(), with a local rank there. False: no
/// host is left for the member.
bool settle(std::size_t member, std::size_t instead_of, std::optional<std::size_t> site,
            const JobSites& sites, Placement& placement, std::vector<LocalRank>& ranks);

}  // namespace stretto::launch
