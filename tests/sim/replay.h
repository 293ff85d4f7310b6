// SPDX-License-Identifier: Apache-2.0
// Replay: the command that runs one seed again, for a failure to print. An assert of production's
// that fails prints it too.
#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/violation.h"

namespace stretto::sim {

/// One at a time. Thread: the simulation's.
class Replay {
 public:
  /// Of a test whose seeds are as seeds.h says: "Simulation.Every*".
  explicit Replay(std::string test);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// This seed runs from now on.
  void at(std::uint64_t seed);
  const std::string& command() const { return command_; }
  /// What is wrong in the current seed, what is to be said of the job, and the command.
  std::string told(const Violation& violation, const std::string& job = {}) const;

 private:
  std::string test_;
  std::string command_;
};

}  // namespace stretto::sim
