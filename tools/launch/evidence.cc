// SPDX-License-Identifier: Apache-2.0
// The words for ends, and the way back from an error line to what it says.
#include "tools/launch/evidence.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>

namespace stretto::launch {
namespace {

constexpr std::string_view kErrorLine = "ERROR ";

Code code_named(std::string_view name) {
  for (int number = 0; number <= static_cast<int>(Code::kInterrupted); ++number) {
    const auto code = static_cast<Code>(number);
    if (name == stretto::name_of(code)) return code;
  }
  return Code::kOk;
}

// Takes what is before `end` off the front of `text`; nothing if `end` is not there.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view end) {
  const std::size_t found = text.find(end);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, found);
  text.remove_prefix(found + end.size());
  return taken;
}

}  // namespace

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::string Exit::text() const {
  if (by_signal) return fmt::format("killed by {}", signal_name(number));
  return fmt::format("exited with status {}", number);
}

std::optional<Statement> statement_of(std::string_view line, const Member& speaker) {
  if (!line.starts_with(kErrorLine)) return std::nullopt;
  line.remove_prefix(kErrorLine.size());
  const auto code = take_until(line, " role=");
  const auto role = take_until(line, " rank=");
  const auto rank = take_until(line, " peer=");
  const auto peer = take_until(line, " op=");
  const auto operation = take_until(line, " cause=");
  if (!code || !role || !rank || !peer || !operation) return std::nullopt;
  // Before a process has its rank it may say "-".
  const bool own =
      *role == name_of(speaker.role) && (*rank == "-" || *rank == std::to_string(speaker.rank));
  if (!own || code_named(*code) == Code::kOk) return std::nullopt;
  return Statement{code_named(*code), std::string(*peer), std::string(line)};
}

bool Evidence::workers_succeeded() const {
  return std::all_of(members.begin(), members.end(), [](const Witness& witness) {
    return witness.member.role != Role::kWorker || witness.succeeded();
  });
}

}  // namespace stretto::launch
