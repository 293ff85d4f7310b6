// SPDX-License-Identifier: Apache-2.0
// Reads a process's state and start time from /proc: fields 3 and 22 of its "stat" (proc(5)).
#include "common/process/parent_process.h"

#include <errno.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace stretto {
namespace {

constexpr std::uint64_t kMostProcesses = 1U << 22;  // Largest PID of 64-bit systems, proc(5).

struct ProcessState {
  std::uint64_t process = 0;
  std::uint64_t started = 0;
  bool runs = false;  // False: a zombie, not reaped by its parent yet.
};

// `process`: a number, or "self". The name of its program, in parentheses, may have any characters.
std::optional<ProcessState> state_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t name_ends = text.rfind(')');
  if (name_ends == std::string::npos) return std::nullopt;
  ProcessState state;
  std::from_chars(text.data(), text.data() + name_ends, state.process);
  std::istringstream rest(text.substr(name_ends + 1));
  std::string field;
  constexpr int kState = 3;
  constexpr int kStarted = 22;
  for (int i = kState; i <= kStarted && rest >> field; ++i) {
    if (i == kState) state.runs = field != "Z" && field != "X";
    if (i == kStarted) {
      std::from_chars(field.data(), field.data() + field.size(), state.started);
    }
  }
  return state.process != 0 && state.started != 0 ? std::optional(state) : std::nullopt;
}

// The number in "pid:[4026531836]"; 0: unknown.
std::uint64_t own_space() {
  std::array<char, 64> target{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", target.data(), target.size());
  const std::string_view text(target.data(), length < 0 ? 0 : static_cast<std::size_t>(length));
  const std::size_t begins = text.find('[');
  std::uint64_t space = 0;
  if (begins != std::string_view::npos) {
    std::from_chars(text.data() + begins + 1, text.data() + text.size(), space);
  }
  return space;
}

// The id of this boot; empty: unknown.
std::string own_boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  return boot;
}

Status no_name(std::string_view name) {
  return {Code::kInvalidArgument,
          fmt::format("'{}', wanted PID:TICKS:NAMESPACE:BOOT of the process that has started this "
                      "one, as stretto-launch sets it",
                      name)};
}

}  // namespace

std::string ParentProcess::own_name() {
  const std::optional<ProcessState> own = state_of("self");
  const std::uint64_t space = own_space();
  const std::string boot = own_boot();
  if (!own || space == 0 || boot.empty()) return {};
  return fmt::format("{}:{}:{}:{}", own->process, own->started, space, boot);
}

Result<ParentProcess> ParentProcess::named(std::string_view name) {
  ParentProcess starter;
  if (name.empty()) return starter;
  const char* at = name.data();
  const char* const end = at + name.size();
  for (std::uint64_t* number : {&starter.process_, &starter.started_, &starter.space_}) {
    const auto [rest, error] = std::from_chars(at, end, *number);
    if (error != std::errc() || *number == 0 || rest == end || *rest != ':') {
      return no_name(name);
    }
    at = rest + 1;
  }
  starter.boot_.assign(at, end);
  if (starter.boot_.empty() || starter.process_ > kMostProcesses) return no_name(name);
  return starter;
}

bool ParentProcess::has_ended() const {
  if (process_ == 0 || own_space() != space_ || own_boot() != boot_) return false;
  const std::optional<ProcessState> now = state_of(std::to_string(process_));
  if (now) return !now->runs || now->started != started_;
  // /proc may only hide the process.
  return ::kill(static_cast<pid_t>(process_), 0) != 0 && errno == ESRCH;
}

}  // namespace stretto
