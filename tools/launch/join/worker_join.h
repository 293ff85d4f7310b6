// SPDX-License-Identifier: Apache-2.0
// stretto-launch join HOST:PORT -- PROGRAM: what a worker is told that joins a job which runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/config/job_file.h"
#include "stretto/status.h"
#include "tools/launch/plan/environment.h"

namespace stretto::launch {

/// What is to be run, and with which variables beside those that are there.
struct Joining {
  std::vector<std::string> command;
  Variables given;
};

/// From the words after "join". The token comes from the environment, or from this user's job file
/// of that scheduler. Errors: InvalidArgument, with what was wanted and found.
Result<Joining> joining_from(std::span<const std::string> words, const Variables& inherited,
                             const std::vector<KnownJob>& jobs);

}  // namespace stretto::launch
