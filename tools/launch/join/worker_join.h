// SPDX-License-Identifier: Apache-2.0
// stretto-launch join HOST:PORT -- PROGRAM: variables of a worker that joins a running job.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/config/job_file.h"
#include "stretto/status.h"
#include "tools/launch/plan/environment.h"

namespace stretto::launch {

/// The command, and its variables on top of the caller's environment.
struct Joining {
  std::vector<std::string> command;
  Variables given;
};

/// Parses the words after "join". The token comes from the environment, or from this user's job
/// file of that scheduler. Errors: InvalidArgument, with wanted and found.
Result<Joining> joining_from(std::span<const std::string> words, const Variables& inherited,
                             const std::vector<KnownJob>& jobs);

}  // namespace stretto::launch
