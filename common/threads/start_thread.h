// SPDX-License-Identifier: Apache-2.0
// Starts a thread, with an error instead of an exception if resources are lacking.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "stretto/status.h"

namespace stretto {

/// Runs `run` on a new thread. kResource if the system refuses another thread to this user.
template <typename Run>
Status start_thread(std::jthread& thread, Run run) {
  try {
    thread = std::jthread(std::move(run));
    return {};
  } catch (const std::system_error& refused) {
    return {Code::kResource, std::string("wanted a thread: ") + refused.what() +
                                 "; allow this user more processes (ulimit -u), its control group "
                                 "more tasks (pids.max), or both more memory"};
  }
}

}  // namespace stretto
