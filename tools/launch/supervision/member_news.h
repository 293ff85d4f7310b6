// SPDX-License-Identifier: Apache-2.0
// What a launch does about news of single members: a worker has joined or left, a server moves, a
// host is silent. Pure, as the Supervisor is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "stretto/types.h"
#include "tools/launch/supervision/supervisor.h"

namespace stretto::launch {

/// One that does not run is started for another, whose place it is to have.
Reaction begin_move(Supervisor& supervisor, const Restart& wanted);

/// The scheduler says that this worker, which was started later than others, has joined.
void note_joined(Supervisor& supervisor, std::optional<Rank> worker);

/// The scheduler of a job that has not come together awaits another process for this worker.
Reaction note_missed(Supervisor& supervisor, std::optional<Rank> worker, Time now);
/// `member` got SIGTERM, as its host leaves the job.
void note_asked(Supervisor& supervisor, std::size_t member);

/// The scheduler says that this worker has left the job in order.
Reaction note_left(Supervisor& supervisor, std::optional<Rank> worker, Time now);

/// What the scheduler says of a worker in `line`, if it does: each of the three above.
Reaction note_worker_news(std::string_view line, Supervisor& supervisor, Time now);

/// All have come together, and the job is not about to end.
bool runs(const Supervisor& supervisor);
/// A worker that was asked to go has left in order: another is started for it, if one is left.
Reaction replace_left(const Supervisor& supervisor, std::size_t member);

/// A host is lost for this reason: those of its `members` that the job must do without. A worker
/// on a host that is only silent may live, and an elastic job goes on with it.
std::vector<std::size_t> ended_with_host(const std::vector<std::size_t>& members, const Status& why,
                                         const Supervisor& supervisor);
/// The silent host `name` is heard again: those of its `members` with which the job went on are
/// watched again. All others are lost to the job.
Reaction watch_again(Supervisor& supervisor, const std::vector<std::size_t>& members,
                     const std::string& name);

/// How long a host may say nothing at all before it is lost. While the job runs, and ends without
/// it would be missed, that is longer: the way to it may only be slow.
Duration silence_limit(const JobEvidence& evidence, const Limits& limits);

}  // namespace stretto::launch
