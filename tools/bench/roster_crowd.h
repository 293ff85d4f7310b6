// SPDX-License-Identifier: Apache-2.0
// A crowd: many workers of one job in one process, as far as the scheduler sees them. They join,
// declare, meet at barriers, show signs of life and leave; no tensor's bytes move.
#pragma once

#include <cstdint>
#include <string>

#include "common/descriptor.h"
#include "stretto/types.h"

namespace stretto::bench {

/// What one worker of a crowd writes to a pipe, in one piece.
struct CrowdNews {
  enum class Phase : std::uint8_t {
    kJoined,   ///< The roster has come.
    kTrained,  ///< The last barrier is open.
    kLeft,     ///< The scheduler has answered,
    kFailed    ///< or the worker has ended with an error.
  };
  Phase phase = Phase::kJoined;
  std::uint64_t bytes = 0;  ///< That the scheduler has sent to it so far, with headers.
  double seconds = 0;       ///< kLeft: from asking to the answer.
};

struct CrowdTask {
  std::string scheduler;  ///< Its address.
  std::uint32_t workers = 0;
  std::uint32_t first_rank = 0;  ///< These and as many as follow are in this process,
  std::uint32_t count = 0;
  bool with_server = false;  ///< and the job's one server.
  std::uint32_t tensors = 0;
  Duration training{};
  int news = -1;   ///< The pipe's end.
  int until = -1;  ///< They leave when this pipe has ended.
};

/// The process of a crowd; its exit status.
int run_crowd(const CrowdTask& task);

}  // namespace stretto::bench
