// SPDX-License-Identifier: Apache-2.0
// SavingPast: the results of earlier lives that the next life of a program must find, recorded
// independently of production code.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stretto::sim {

/// How many workers had made each step, from the first on.
using Lineage = std::vector<std::uint32_t>;

struct SavingPast {
  Lineage steps;                           ///< Of this life, including the restored steps.
  std::map<std::uint64_t, Lineage> begun;  ///< By checkpoint number: the steps in it.
  std::uint64_t complete = 0;              ///< The last one that a worker knows to be complete.
  std::uint64_t failures = 0;              ///< Failed checkpoints.
};

/// A worker's contribution in a step.
inline std::int64_t given_in_step(std::uint32_t worker, std::uint64_t step, std::uint64_t element) {
  return static_cast<std::int64_t>((worker + 1) * 10'000'000 + step * 10'000 + element);
}

/// The expected value after these steps.
inline std::int64_t kept_after(const Lineage& steps, std::uint64_t element) {
  std::int64_t sum = 0;
  for (std::uint64_t step = 1; step <= steps.size(); ++step) {
    for (std::uint32_t worker = 0; worker < steps[step - 1]; ++worker) {
      sum += given_in_step(worker, step, element);
    }
  }
  return sum;
}

/// An attachment: of one worker, or if `worker` is negative, the replicated one.
inline std::string attached_text(std::int64_t worker, std::uint64_t step) {
  std::string text = fmt::format("step {} of {};", step, worker);
  for (std::uint64_t i = 0; i < 40 + 7 * step % 200; ++i) text += static_cast<char>('a' + i % 26);
  return text;
}

}  // namespace stretto::sim
