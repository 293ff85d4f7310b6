// SPDX-License-Identifier: Apache-2.0
// An analysis as text and as JSON; and measured times of transfers and computations for orders such
// as TAC.
#pragma once

#include <string>
#include <vector>

#include "observe/trace/analysis.h"

namespace stretto::trace {

std::string report_text(const Trace& trace, const Analysis& analysis);
/// One object: verdict, totals, and a list of iterations with their critical paths.
std::string report_json(const Trace& trace, const Analysis& analysis);

/// The times of one tensor, listed in the order of the program's first waits.
struct Measured {
  std::string tensor;
  std::uint64_t bytes = 0;
  std::int64_t transfer_ns = 0;       ///< Sum over its parts of the shortest transfer.
  std::int64_t compute_ns = 0;        ///< From the end of its wait to the next wait: median,
  std::int64_t least_compute_ns = 0;  ///< and least.
};
std::vector<Measured> measured_of(const Trace& trace);
/// {"transfers":[{"name","bytes","transfer_s","compute_s","least_compute_s"}...]}.
std::string measured_json(const std::vector<Measured>& measured);

}  // namespace stretto::trace
