// SPDX-License-Identifier: Apache-2.0
// Which metrics can be shown, and how many.
#include "worker/monitoring/user_metrics.h"

#include <fmt/core.h>

#include <utility>

namespace stretto {

Status UserMetrics::set(std::string_view name, double value) {
  if (!is_reported_name(name)) {
    return {
        Code::kInvalidArgument,
        fmt::format("'{}' cannot be reported, wanted a name of 1 to {} bytes of UTF-8 without "
                    "control characters",
                    shortened(printable(name), kMostReportedNameBytes), kMostReportedNameBytes)};
  }
  if (!std::isfinite(value)) {
    return {Code::kInvalidArgument,
            fmt::format("'{}' is {}, and only finite numbers can be reported", name, value)};
  }
  MutexLock lock(mutex_);
  if (!keep_reported(all_, name, value)) {
    return {Code::kResource, fmt::format("'{}' is one name too many to report, wanted {} at most",
                                         name, kMostReportedNames)};
  }
  fresh_.insert_or_assign(std::string(name), value);
  return {};
}

UserMetricValues UserMetrics::take() {
  MutexLock lock(mutex_);
  return std::exchange(fresh_, {});
}

UserMetricValues UserMetrics::all() {
  MutexLock lock(mutex_);
  return all_;
}

}  // namespace stretto
