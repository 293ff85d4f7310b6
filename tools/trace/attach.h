// SPDX-License-Identifier: Apache-2.0
// Selects the job for a tool: the named one, or the user's only one. Pure: known jobs are passed
// in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/job_file.h"

namespace stretto::observe {

/// The address that a tool connects to.
struct Target {
  std::string scheduler;  ///< host:port.
  std::string token;
  bool encrypts = false;  ///< Its connections are encrypted.
  std::string name = {};  ///< Of the job; empty: unknown on this host.
  bool zmq = false;       ///< Its connections between hosts use libzmq.
};

/// "train at 127.0.0.1:9000": the title line of a tool's output.
std::string title_of(const Target& target);

/// `wanted` is --job: the name or the launcher's process id of a known job, or the host:port of any
/// scheduler; empty: the only known job. `token`, `encrypts` and `zmq` are the user's settings, and
/// apply to addresses only; known jobs have their own. Errors: InvalidArgument, which lists the
/// candidates.
Result<Target> target_of(const std::vector<KnownJob>& jobs, const std::string& wanted,
                         const std::string& token, bool encrypts = false, bool zmq = false);

/// A line for each job, with a heading and a usage hint. Tokens are not shown.
std::string list_of(const std::vector<KnownJob>& jobs, std::int64_t now_s);

}  // namespace stretto::observe
