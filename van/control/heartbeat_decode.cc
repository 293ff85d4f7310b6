// SPDX-License-Identifier: Apache-2.0
// One function for each part of a heartbeat.
#include "van/control/heartbeat_decode.h"

#include <algorithm>

#include "common/text.h"
#include "van/control/control.pb.h"
#include "van/control/known_number.h"

namespace stretto::control {
namespace {

// Limit of displayed times: larger ones were not measured. Twice this fits a Duration.
constexpr std::uint64_t kMostNanoseconds = std::uint64_t{1} << 61;

Duration held_to_limit(std::uint64_t count) {
  return Duration(static_cast<std::int64_t>(std::min(count, kMostNanoseconds)));
}

InputTotals totals_from(const wire::InputProgress& progress) {
  return {.at = Time(held_to_limit(progress.at_ns())),
          .delivered_bytes = progress.delivered_bytes(),
          .demanded_bytes = progress.demanded_bytes(),
          .stall = held_to_limit(progress.stall_ns()),
          .requests = progress.requests(),
          .latency = held_to_limit(progress.latency_ns()),
          .in_flight_bytes = progress.in_flight_bytes(),
          .read_bytes = progress.read_bytes()};
}

LongWait wait_from(const wire::LongWait& message) {
  LongWait wait{.tensor = printable(shortened(message.tensor(), LongWait::kMaxNameBytes)),
                .round = message.round(),
                .age = held_to_limit(message.ns()),
                .ranks = {},
                .workers = message.workers(),
                .tensors = message.tensors()};
  for (const std::uint32_t rank : message.ranks()) {
    if (wait.ranks.size() < LongWait::kMostRanks) wait.ranks.push_back(rank);
  }
  return wait;
}

std::string short_text(const std::string& text) {
  return printable(shortened(text, Activity::kMaxTextBytes));
}

Activity activity_from(const wire::Activity& message) {
  const auto number = [](std::uint32_t value) { return static_cast<int>(std::min(value, 255U)); };
  Activity activity{.place = known(number(message.place()), Activity::Place::kEnding),
                    .age = held_to_limit(message.ns()),
                    .call = short_text(message.call()),
                    .pause = short_text(message.pause()),
                    .begun = short_text(message.begun()),
                    .ended = short_text(message.ended()),
                    .awaits = {},
                    .held = message.held(),
                    .cpu = held_to_limit(message.cpu_ns()),
                    .page_reads = message.page_reads(),
                    .rest = known(number(message.rest()), Activity::Rest::kMemory),
                    .rest_on = short_text(message.rest_on())};
  for (const std::uint32_t node : message.awaits()) {
    if (activity.awaits.size() < Activity::kMostAwaited) activity.awaits.push_back(node);
  }
  return activity;
}

}  // namespace

Heartbeat heartbeat_from(const wire::Heartbeat& message) {
  Heartbeat beat{
      .number = message.number(),
      .rounds = message.rounds(),
      .staleness = message.staleness(),
      .bytes_in = message.bytes_in(),
      .bytes_out = message.bytes_out(),
      .frames_waiting = message.frames_waiting(),
      .bytes_in_flight = message.bytes_in_flight(),
      .waits_in = message.waits_in(),
      .elsewhere = message.elsewhere(),
      .input_limit_bytes = message.input_limit_bytes(),
      .wants_stack = message.wants_stack(),
      .stack = printable(shortened(message.stack(), Heartbeat::kMostStackBytes), Lines::kKept)};
  for (const wire::Held& held : message.held()) {
    if (beat.held.size() == Heartbeat::kMostHeld) break;
    if (held.ns() >= kMostNanoseconds) continue;
    beat.held.push_back({.rank = held.rank(), .time = held_to_limit(held.ns())});
  }
  if (message.has_input()) beat.input = totals_from(message.input());
  for (const wire::Report& report : message.reports()) {
    keep_reported(beat.reports, report.name(), report.value());
  }
  for (const wire::LongWait& wait : message.long_waits()) {
    if (beat.long_waits.size() == Heartbeat::kMostLongWaits) break;
    beat.long_waits.push_back(wait_from(wait));
  }
  for (const wire::EndedWait& wait : message.ended_waits()) {
    if (beat.ended_waits.size() == Heartbeat::kMostEndedWaits) break;
    beat.ended_waits.push_back({.rounds = wait.rounds(), .time = held_to_limit(wait.ns())});
  }
  for (const wire::Chosen& chosen : message.chosen()) {
    if (beat.chosen.size() == Heartbeat::kMostChosen) break;
    beat.chosen.push_back({.plan = printable(shortened(chosen.plan(), Chosen::kMaxPlanBytes)),
                           .tensors = chosen.tensors(),
                           .bytes = chosen.bytes(),
                           .why = printable(shortened(chosen.why(), Chosen::kMaxWhyBytes))});
  }
  if (message.has_activity()) beat.activity = activity_from(message.activity());
  return beat;
}

}  // namespace stretto::control
