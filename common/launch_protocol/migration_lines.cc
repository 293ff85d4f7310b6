// SPDX-License-Identifier: Apache-2.0
// Two lines, written and read.
#include "common/launch_protocol/migration_lines.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/launch_protocol/status_lines.h"

namespace stretto {
namespace {

constexpr std::string_view kServer = "server ";
constexpr std::string_view kHasPlaceOf = " is to have the place of server ";
constexpr std::string_view kOn = " on ";
constexpr std::string_view kCannot = " cannot be started: ";
constexpr std::size_t kMostTold = 180;  // Of a reason, in a line that has a limit.

bool take(std::string_view& text, std::string_view words) {
  if (!text.starts_with(words)) return false;
  text.remove_prefix(words.size());
  return true;
}

std::optional<Rank> take_number(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<Rank> number = whole_number<Rank>(text.substr(0, end));
  text.remove_prefix(end);
  return number;
}

}  // namespace

std::string line_of(const MigrationOrder& order) {
  return fmt::format("{}{}{}{}{}{}", kServer, order.server, kHasPlaceOf, order.from,
                     order.host.empty() ? "" : kOn, order.host);
}

std::optional<MigrationOrder> move_order_in(std::string_view line) {
  MigrationOrder order;
  if (!take(line, kServer)) return std::nullopt;
  const std::optional<Rank> server = take_number(line);
  if (!server || !take(line, kHasPlaceOf)) return std::nullopt;
  const std::optional<Rank> from = take_number(line);
  if (!from || (!line.empty() && !take(line, kOn))) return std::nullopt;
  order.server = *server;
  order.from = *from;
  order.host = line;
  return order;
}

std::string line_of(const StartRefusal& refusal) {
  std::string why = refusal.why.substr(0, kMostTold);
  std::ranges::replace(why, '\n', ' ');
  return fmt::format("{}{}{}{}", kServer, refusal.server, kCannot, why);
}

std::optional<StartRefusal> start_refusal_in(std::string_view line) {
  if (!take(line, kServer)) return std::nullopt;
  const std::optional<Rank> server = take_number(line);
  if (!server || !take(line, kCannot)) return std::nullopt;
  return StartRefusal{.server = *server, .why = std::string(line)};
}

}  // namespace stretto
