// SPDX-License-Identifier: Apache-2.0
// The log's one lock and its one write.
#include "common/log.h"

#include <atomic>
#include <cstdio>

#include "common/mutex.h"
#include "common/text.h"

namespace stretto {
namespace {

constexpr std::string_view kLevelNames[] = {"debug", "info", "warning", "error", "silent"};

// The process's log state: the only mutable state shared by design across the whole process.
struct State {
  std::atomic<Level> level{Level::kInfo};
  Mutex mutex;
  Identity who GUARDED_BY(mutex);
};

State& state() {
  static State* instance = new State;  // Never destroyed: threads may log while the process exits.
  return *instance;
}

}  // namespace

void set_log_identity(Identity who) {
  MutexLock lock(state().mutex);
  state().who = std::move(who);
}

Identity log_identity() {
  MutexLock lock(state().mutex);
  return state().who;
}

void set_log_level(Level level) { state().level.store(level, std::memory_order_relaxed); }

std::optional<Level> level_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kLevelNames); ++i) {
    if (kLevelNames[i] == name) return static_cast<Level>(i);
  }
  return std::nullopt;
}

bool log_enabled(Level level) {
  return level >= state().level.load(std::memory_order_relaxed) && level != Level::kSilent;
}

void log_line(Level level, std::string_view text) {
  const Identity who = log_identity();
  const std::string line =
      fmt::format("stretto {} {}{}: {}\n", kLevelNames[static_cast<std::size_t>(level)], who.role,
                  who.rank < 0 ? std::string() : fmt::format(" {}", who.rank), printable(text));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace stretto
