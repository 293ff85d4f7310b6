// SPDX-License-Identifier: Apache-2.0
// The forms that values of flags may have.
#include "tools/launch/plan/values.h"

#include <fmt/core.h>

#include <charconv>
#include <chrono>

#include "common/clock.h"

namespace stretto::launch {
namespace {

constexpr double kMaxSeconds = 86400;

Status invalid_value(std::string cause) { return {Code::kInvalidArgument, std::move(cause)}; }

}  // namespace

Status read_number(std::string_view flag, std::string_view text, std::uint32_t most,
                   std::uint32_t& value, std::uint32_t least) {
  std::uint32_t parsed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, parsed);
  if (error != std::errc() || stop != end || parsed < least || parsed > most) {
    return invalid_value(
        fmt::format("{} is '{}', wanted a whole number from {} to {}", flag, text, least, most));
  }
  value = parsed;
  return {};
}

Status read_seconds(std::string_view flag, std::string_view text, double least, Duration& value) {
  double parsed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, parsed);
  if (error != std::errc() || stop != end || !(parsed >= least) || !(parsed <= kMaxSeconds)) {
    return invalid_value(
        fmt::format("{} is '{}', wanted seconds from {} to {}", flag, text, least, kMaxSeconds));
  }
  value = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(parsed));
  return {};
}

Status read_time(std::string_view flag, std::string_view text, std::optional<Duration>& value) {
  if (text == "auto") {
    value = Duration::zero();
    return {};
  }
  constexpr std::string_view kUnits = "smh";
  double unit = 1;
  std::string_view number = text;
  if (!number.empty() && kUnits.find(number.back()) != std::string_view::npos) {
    unit = number.back() == 's' ? 1 : number.back() == 'm' ? 60 : 3600;
    number.remove_suffix(1);
  }
  Duration parsed{};
  const Status status = read_seconds(flag, number, 0.001, parsed);
  if (!status.ok() || seconds(parsed) * unit > kMaxSeconds) {
    return invalid_value(
        fmt::format("{} is '{}', wanted auto, or a time such as 30s, 10m or 2h, from "
                    "0.001 s to {} s",
                    flag, text, kMaxSeconds));
  }
  value = std::chrono::duration_cast<Duration>(parsed * unit);
  return {};
}

Status read_range(std::string_view flag, std::string_view text, std::uint32_t limit,
                  std::uint32_t& least, std::uint32_t& most) {
  const std::size_t colon = text.find(':');
  least = 0;
  if (colon == std::string_view::npos) return read_number(flag, text, limit, most);
  const bool numbers = read_number(flag, text.substr(0, colon), limit, least).ok() &&
                       read_number(flag, text.substr(colon + 1), limit, most).ok();
  if (numbers && least <= most) return {};
  return invalid_value(fmt::format(
      "{} is '{}', wanted N, or MIN:MAX with MIN at most MAX, each a whole number from 1 to {}",
      flag, text, limit));
}

}  // namespace stretto::launch
