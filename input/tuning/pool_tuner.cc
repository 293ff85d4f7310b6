// SPDX-License-Identifier: Apache-2.0
// How a trial of a pool reads.
#include "input/tuning/pool_tuner.h"

#include <fmt/core.h>

namespace stretto::input {

std::string describe_pool(const Trial& trial, std::uint32_t threads) {
  const double ms = std::chrono::duration<double, std::milli>(trial.mean_latency).count();
  return fmt::format("{:<7} {} decode threads  {:.0f} samples/s +-{:.1f} %  {:.2f} ms each: {}\n",
                     name_of(trial.action), threads, trial.bytes_per_second, 100 * trial.noise, ms,
                     trial.reason);
}

}  // namespace stretto::input
