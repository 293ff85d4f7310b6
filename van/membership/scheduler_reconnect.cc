// SPDX-License-Identifier: Apache-2.0
// Error texts of a failed search.
#include "van/membership/scheduler_reconnect.h"

#include <fmt/core.h>

#include "common/clock.h"

namespace stretto {

Status SchedulerReconnect::verdict() const {
  std::string cause = fmt::format("{}; and it was not back within {:.0f} s", search_->why.cause(),
                                  seconds(search_->until - search_->since));
  if (!search_->last.empty()) cause += fmt::format(" ({})", search_->last);
  return {search_->why.code(), std::move(cause)};
}

Status SchedulerReconnect::alone(std::uint64_t starter) const {
  return {search_->why.code(),
          fmt::format("{}; and who had started this process, process {}, has ended, so that it "
                      "waits for no other scheduler",
                      search_->why.cause(), starter)};
}

Status SchedulerReconnect::replaced() const {
  return {search_->why.code(),
          fmt::format("{}; and who listens in its place is of another job ({})",
                      search_->why.cause(), search_->refusal)};
}

std::string SchedulerReconnect::news(Time now) const {
  return fmt::format("{}; another is awaited for {:.0f} s more", search_->why.cause(),
                     seconds(search_->until - now));
}

}  // namespace stretto
