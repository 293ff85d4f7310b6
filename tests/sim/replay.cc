// SPDX-License-Identifier: Apache-2.0
// An assert that fails aborts: what it prints is followed by the command.
#include "tests/sim/replay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace stretto::sim {
namespace {

const std::string*& current_command() {
  static const std::string* command = nullptr;
  return command;
}

extern "C" void print_current_command(int) {
  const std::string* command = current_command();
  if (command == nullptr) return;
  const ssize_t written = ::write(STDERR_FILENO, command->data(), command->size());
  static_cast<void>(written);  // The process ends as soon as this returns.
}

}  // namespace

Replay::Replay(std::string test) : test_(std::move(test)) {
  at(0);
  current_command() = &command_;
  std::signal(SIGABRT, print_current_command);
}

Replay::~Replay() {
  std::signal(SIGABRT, SIG_DFL);
  current_command() = nullptr;
}

void Replay::at(std::uint64_t seed) {
  command_ = fmt::format(
      "replay: STRETTO_SIM_FIRST_SEED={} STRETTO_SIM_SEEDS=1 test_sim "
      "--gtest_filter='{}'\n",
      seed, test_);
}

std::string Replay::told(const Violation& violation, const std::string& job) const {
  return fmt::format("invariant: {}\n{}\n{}{}{}", violation.invariant, violation.text, job,
                     job.empty() ? "" : "\n", command_);
}

}  // namespace stretto::sim
