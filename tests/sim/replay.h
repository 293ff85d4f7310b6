// SPDX-License-Identifier: Apache-2.0
// Replay: the command that runs one seed again, printed with a failure and by a failed assert in
// production code.
#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/violation.h"

namespace stretto::sim {

/// At most one instance. Thread: the simulation's.
class Replay {
 public:
  /// `test`: a test with seeds as in seeds.h, such as "Simulation.Every*".
  explicit Replay(std::string test);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// Sets the seed that runs from now on.
  void at(std::uint64_t seed);
  const std::string& command() const { return command_; }
  /// The violation in the current seed, the description of the job, and the command.
  std::string told(const Violation& violation, const std::string& job = {}) const;

 private:
  std::string test_;
  std::string command_;
};

}  // namespace stretto::sim
