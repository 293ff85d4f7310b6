// SPDX-License-Identifier: Apache-2.0
// Netlab: hosts with a link of a known rate between them, all within this machine: network
// namespaces, veth pairs and tbf. docs/BENCHMARKS.md says what it is like, and what it is not.
#pragma once

#include <string>
#include <vector>

#include "stretto/status.h"
#include "tools/bench/support/lab_plan.h"

namespace stretto::bench {

/// Taken away again with its owner. Its plan has this process's id, and what dead processes have
/// left behind is removed when the next is made. Thread: the one that made it.
class Netlab {
 public:
  /// Errors: Unsupported where this user or this system may not have one; the text says what is
  /// missing.
  static Result<Netlab> create(LabPlan plan);

  Netlab(Netlab&& other) noexcept;
  Netlab& operator=(Netlab&&) = delete;
  ~Netlab();

  const LabPlan::Host& sender() const { return plan_.sender; }
  const std::vector<LabPlan::Host>& receivers() const { return plan_.receivers; }
  const LabPlan::Delayed& delayed() const { return plan_.delayed; }

  /// Moves the calling thread to a host, for good. For processes just forked: what they open and
  /// run from now on is there.
  static Status enter(const LabPlan::Host& host);

 private:
  explicit Netlab(LabPlan plan) : plan_(std::move(plan)) {}

  Status make();

  LabPlan plan_;
  std::vector<std::string> made_;  // Namespaces that exist.
};

}  // namespace stretto::bench
