// SPDX-License-Identifier: Apache-2.0
// /proc/PID/stat contains a process's start time, which tells whether the PID has been reused.
#include "van/host_window/process_id.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "common/descriptor.h"

namespace stretto::host {
namespace {

constexpr int kStartField = 22;  // proc(5).

std::uint64_t space_of_processes() {
  struct stat found{};
  return ::stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

// In clock ticks since the system's start; none if unreadable.
std::optional<std::uint64_t> started_at(pid_t process) {
  const Descriptor file(
      ::open(fmt::format("/proc/{}/stat", process).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> bytes{};
  const ssize_t count = file.is_open() ? ::read(file.get(), bytes.data(), bytes.size()) : 0;
  if (count <= 0) return std::nullopt;
  std::string_view text(bytes.data(), static_cast<std::size_t>(count));
  // The second field is a name in parentheses, with any characters.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end + 1);
  for (int field = 2; field < kStartField; ++field) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    text.remove_prefix(space + 1);
  }
  std::uint64_t ticks = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), ticks);
  return error == std::errc() ? std::optional(ticks) : std::nullopt;
}

std::uint64_t owner_word(pid_t process, std::uint64_t started) {
  return static_cast<std::uint64_t>(process) << 32 | static_cast<std::uint32_t>(started);
}

}  // namespace

ProcessMark own_mark() {
  return {.owner = owner_word(::getpid(), started_at(::getpid()).value_or(0)),
          .space = space_of_processes()};
}

Life life_of(const ProcessMark& process) {
  if (process.space != space_of_processes()) return Life::kUnknown;
  const auto number = static_cast<pid_t>(process.owner >> 32);
  if (number <= 0) return Life::kGone;
  if (const auto started = started_at(number)) {
    return owner_word(number, *started) == process.owner ? Life::kAlive : Life::kGone;
  }
  return ::kill(number, 0) != 0 && errno == ESRCH ? Life::kGone : Life::kAlive;
}

}  // namespace stretto::host
