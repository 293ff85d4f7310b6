// SPDX-License-Identifier: Apache-2.0
// Writes a line to stderr for each event that operators need. Returned errors are not logged.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stretto {

enum class Level : std::uint8_t { kDebug, kInfo, kWarning, kError, kSilent };

/// The sender that log lines of this process name.
struct Identity {
  std::string role = "process";
  std::int64_t rank = -1;
};

/// Thread: any. `main` or Worker::join sets both once; later lines carry them.
void set_log_identity(Identity who);
Identity log_identity();
void set_log_level(Level level);
inline constexpr std::string_view kLevelWords = "debug, info, warning, error or silent";
/// The level of that name; none for any other word.
std::optional<Level> level_named(std::string_view name);

bool log_enabled(Level level);
void log_line(Level level, std::string_view text);

/// log(Level::kInfo, "{} workers have joined", n): fmt's format strings. Thread: any.
template <typename... Args>
void log(Level level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace stretto
