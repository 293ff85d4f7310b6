// SPDX-License-Identifier: Apache-2.0
// Starting a thread where there may be no room for one: an error, and no exception.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "stretto/status.h"

namespace stretto {

/// `run` goes on there. kResource if the system lets this user have no more.
template <typename ReadRun>
Status start_thread(std::jthread& thread, ReadRun run) {
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
