// SPDX-License-Identifier: Apache-2.0
// Reactions to news of single members: a worker has joined or left, a server migrates, a host is
// silent. Pure, as the Supervisor is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "stretto/types.h"
#include "tools/launch/supervision/supervisor.h"

namespace stretto::launch {

/// Starts a stopped member as the replacement of another member.
Reaction begin_move(Supervisor& supervisor, const Restart& wanted);

/// The scheduler reports that this worker, which started later than others, has joined.
void note_joined(Supervisor& supervisor, std::optional<Rank> worker);

/// The scheduler of a forming job awaits another process for this worker.
Reaction note_missed(Supervisor& supervisor, std::optional<Rank> worker, Time now);
/// `member` got SIGTERM, as its host drains.
void note_asked(Supervisor& supervisor, std::size_t member);

/// The scheduler reports that this worker has left.
Reaction note_left(Supervisor& supervisor, std::optional<Rank> worker, Time now);

/// Applies the scheduler's report about a worker in `line`, if any: each of the three above.
Reaction note_worker_news(std::string_view line, Supervisor& supervisor, Time now);

/// All members have joined, and the job is not about to end.
bool runs(const Supervisor& supervisor);
/// A worker that was asked to leave has left: starts a replacement, if a spare is left.
Reaction replace_left(const Supervisor& supervisor, std::size_t member);

/// A host is lost for this reason: those of its `members` that the job loses. A worker on a host
/// that is only silent may live, and an elastic job continues with it.
std::vector<std::size_t> ended_with_host(const std::vector<std::size_t>& members, const Status& why,
                                         const Supervisor& supervisor);
/// The silent host `name` is heard again: watches those of its `members` again with which the job
/// continued. All others are lost to the job.
Reaction watch_again(Supervisor& supervisor, const std::vector<std::size_t>& members,
                     const std::string& name);

/// Silence after which a host is lost. While the job runs and would miss exit reports, the limit is
/// longer: the network may only be slow.
Duration silence_limit(const JobEvidence& evidence, const Limits& limits);

}  // namespace stretto::launch
