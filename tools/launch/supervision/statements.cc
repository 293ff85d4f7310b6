// SPDX-License-Identifier: Apache-2.0
// The forms in which Python, libstdc++ and argparse report a failure.
#include "tools/launch/supervision/statements.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "common/program_failed.h"

namespace stretto::launch {
namespace {

constexpr std::size_t kMostBytes = 300;  // Of a message repeated in the last line.

// Python continues after the traceback that follows such a line.
bool announces_harmless(std::string_view line) {
  return line.starts_with("Exception ignored ") || line.starts_with("Exception in thread ") ||
         line.starts_with("Error in atexit._run_exitfuncs:");
}

// "ValueError: my bug", "package.module.Failure", never indented.
bool names_exception(std::string_view line) {
  const std::string_view type = line.substr(0, line.find(": "));
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  return !type.empty() && std::isdigit(static_cast<unsigned char>(type.front())) == 0 &&
         std::ranges::all_of(type, fits);
}

// "train.py: error: the following arguments are required: --data", and Python's own "can't open".
bool refuses_command_line(std::string_view line) {
  const std::size_t colon = line.find(": ");
  if (colon == 0 || colon == std::string_view::npos) return false;
  const std::string_view rest = line.substr(colon + 2);
  return line.front() != ' ' && line.substr(0, colon).find(' ') == std::string_view::npos &&
         (rest.starts_with("error: ") || rest.starts_with("can't open file "));
}

// Does not split a UTF-8 character.
std::string shortened(std::string_view text) {
  if (text.size() <= kMostBytes) return std::string(text);
  std::size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

ErrorLine of_program(std::string_view words) { return {kProgramFailed, "-", shortened(words)}; }

}  // namespace

bool names_a_cause(Code code) {
  constexpr std::array kCauses{Code::kPeerLost,    Code::kServerLost, Code::kSchedulerLost,
                               Code::kInterrupted, Code::kTimeout,    Code::kRendezvousTimeout,
                               Code::kLinkBroken,  Code::kNotFinite};
  return std::ranges::find(kCauses, code) != kCauses.end();
}

std::optional<ErrorLine> StatementReader::take(std::string_view line) {
  std::optional<ErrorLine> said = statement_of(line, speaker_);
  if (said) {
    // A thread's error may be why the program ends, if no other error is printed.
    const bool harmless = std::exchange(in_traceback_, false) && harmless_;
    if (harmless && last_) return std::nullopt;
  } else if (speaker_.role == Role::kWorker) {
    said = take_program_words(line);
    // An exception that follows a cause, or was raised from an error of Stretto's, hides the cause.
    const bool of_stretto = last_ && *last_ != kProgramFailed;
    if (said && of_stretto && (names_a_cause(*last_) || chained_)) said.reset();
  }
  if (said) {
    last_ = said->code;
    chained_ = false;
  }
  return said;
}

std::optional<ErrorLine> StatementReader::take_program_words(std::string_view line) {
  if (announces_harmless(line)) {
    announced_ = true;
    in_traceback_ = false;
    return std::nullopt;
  }
  if (line.ends_with("Traceback (most recent call last):") || line.starts_with("  File \"")) {
    const bool begins = !in_traceback_ && !line.starts_with("Original ");
    if (begins) harmless_ = std::exchange(announced_, false);
    in_traceback_ = true;
    return std::nullopt;
  }
  if (line.starts_with("The above exception was the direct cause of") ||
      line.starts_with("During handling of the above exception")) {
    chained_ = true;
    announced_ = harmless_;
    return std::nullopt;
  }
  constexpr std::string_view kTerminate = "terminate called after throwing an instance of '";
  if (line.starts_with(kTerminate) && line.ends_with('\'')) {
    line.remove_prefix(kTerminate.size());
    thrown_ = line.substr(0, line.size() - 1);
    return of_program("uncaught " + thrown_);
  }
  constexpr std::string_view kWhat = "  what():  ";
  if (!thrown_.empty() && line.starts_with(kWhat)) {
    return of_program(fmt::format("{}: {}", std::exchange(thrown_, {}), line.substr(kWhat.size())));
  }
  if (in_traceback_ && !line.empty() && line.front() != ' ') {
    in_traceback_ = false;
    if (harmless_) {
      chained_ = false;
      return std::nullopt;
    }
    if (names_exception(line)) return of_program(line);
  }
  if (announced_ && names_exception(line)) announced_ = false;  // It has no traceback.
  if (refuses_command_line(line)) return of_program(line);
  return std::nullopt;
}

}  // namespace stretto::launch
