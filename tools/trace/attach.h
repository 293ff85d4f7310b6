// SPDX-License-Identifier: Apache-2.0
// Which job a tool looks at: the one that was named, or the user's only one. Pure: the jobs that
// are known are handed in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/job_file.h"

namespace stretto::observe {

/// Where a tool connects to.
struct Target {
  std::string scheduler;  ///< host:port.
  std::string token;
  bool encrypts = false;  ///< Its links are encrypted.
  std::string name = {};  ///< Of the job; empty: not known on this host.
  bool zmq = false;       ///< Its links between hosts are libzmq's.
};

/// "train at 127.0.0.1:9000": a line for the head of what a tool shows.
std::string title_of(const Target& target);

/// `wanted` is --job: the name or the launcher's process number of a known job, or the host:port of
/// any scheduler; empty: the only one that is known. `token` is what the user gave, and goes to
/// addresses only; an address of a known job needs none. `encrypts` and `zmq` are what the user
/// said of addresses; of a known job they are known. Errors: InvalidArgument, which lists the jobs
/// that could be meant.
Result<Target> target_of(const std::vector<KnownJob>& jobs, const std::string& wanted,
                         const std::string& token, bool encrypts = false, bool zmq = false);

/// A line for each job, with a head and a word on how to see one. Tokens are not shown.
std::string list_of(const std::vector<KnownJob>& jobs, std::int64_t now_s);

}  // namespace stretto::observe
