// SPDX-License-Identifier: Apache-2.0
// The words for a search that was in vain.
#include "van/scheduler_search.h"

#include <fmt/format.h>

#include "common/clock.h"

namespace stretto {

Status SchedulerSearch::verdict() const {
  std::string cause = fmt::format("{}; and it was not back within {:.0f} s", search_->why.cause(),
                                  seconds(search_->until - search_->since));
  if (!search_->last.empty()) cause += fmt::format(" ({})", search_->last);
  return {search_->why.code(), std::move(cause)};
}

}  // namespace stretto
