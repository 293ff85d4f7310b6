// SPDX-License-Identifier: Apache-2.0
// Netlab: hosts with a link of a known rate between them, all on this machine: network namespaces,
// veth pairs and tbf. docs/BENCHMARKS.md describes its limits.
#pragma once

#include <string>
#include <vector>

#include "stretto/status.h"
#include "tools/bench/support/lab_plan.h"

namespace stretto::bench {

/// The destructor removes it. Its plan has this process's id; creating a lab removes those of dead
/// processes. Thread: the creating one.
class Netlab {
 public:
  /// Errors: kUnsupported if this user or system may not have one; the text says what is missing.
  static Result<Netlab> create(LabPlan plan);

  Netlab(Netlab&& other) noexcept;
  Netlab& operator=(Netlab&&) = delete;
  ~Netlab();

  const LabPlan::Host& sender() const { return plan_.sender; }
  const std::vector<LabPlan::Host>& receivers() const { return plan_.receivers; }
  const LabPlan::Delayed& delayed() const { return plan_.delayed; }

  /// Moves the calling thread to a host, permanently. For forked processes: what they open and run
  /// later is on that host.
  static Status enter(const LabPlan::Host& host);

 private:
  explicit Netlab(LabPlan plan) : plan_(std::move(plan)) {}

  Status make();

  LabPlan plan_;
  std::vector<std::string> made_;  // Namespaces that exist.
};

}  // namespace stretto::bench
