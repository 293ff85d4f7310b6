// SPDX-License-Identifier: Apache-2.0
// Converts the workers' totals to windows, and judgements to log messages.
#include "scheduler/monitoring/input_monitor.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr std::uint64_t kMostCount = std::uint64_t{1} << 62;  // Larger values are invalid.
constexpr std::uint64_t kMostInFlight = std::uint64_t{1} << 44;
constexpr Duration kMostWindow = Duration(std::int64_t{1} << 48);  // Three days.
constexpr double kLowDemand = 0.5;                                 // Of the median worker's rate.
constexpr std::uint32_t kSureWindows = 3;

bool makes_sense(const InputTotals& totals) {
  const bool counted =
      std::max({totals.delivered_bytes, totals.demanded_bytes, totals.requests}) < kMostCount &&
      std::max({totals.at.time_since_epoch(), totals.stall, totals.latency}) < Duration(kMostCount);
  return counted && totals.demanded_bytes >= totals.delivered_bytes &&
         totals.in_flight_bytes <= kMostInFlight && totals.read_bytes <= totals.in_flight_bytes;
}

bool follows(const InputTotals& before, const InputTotals& now) {
  return now.at >= before.at && now.at - before.at < kMostWindow &&
         now.delivered_bytes >= before.delivered_bytes &&
         now.demanded_bytes >= before.demanded_bytes && now.stall >= before.stall &&
         now.requests >= before.requests && now.latency >= before.latency;
}

// The difference of two reports, of which `now` follows `before`.
InputDelivery between(const InputTotals& before, const InputTotals& now) {
  const std::uint64_t delivered = now.delivered_bytes - before.delivered_bytes;
  const std::uint64_t requests = now.requests - before.requests;
  const Duration latency = now.latency - before.latency;
  const Duration length = now.at - before.at;
  return {
      .delivered_bytes = delivered,
      .demanded_bytes = std::max(now.demanded_bytes - before.demanded_bytes, delivered),
      .stall = std::min(now.stall - before.stall, length),
      .length = length,
      .mean_latency = requests == 0 ? Duration() : latency / static_cast<std::int64_t>(requests),
      .in_flight_bytes = now.in_flight_bytes,
      .read_bytes = now.read_bytes};
}

double stall_share(const InputDelivery& delivery) {
  return seconds(delivery.stall) / std::max(seconds(delivery.length), 1e-9);
}

double middle_rate(const std::map<Rank, InputDelivery>& window) {
  std::vector<double> rates;
  for (const auto& [rank, delivery] : window) rates.push_back(delivery.rate());
  if (rates.empty()) return 0;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

}  // namespace

void InputMonitor::heard(Rank rank, const InputTotals& totals) {
  Worker& worker = workers_[rank];
  if (!makes_sense(totals) || (worker.latest && !follows(*worker.latest, totals))) {
    worker = {};
    return;
  }
  worker.latest = totals;
  if (!worker.before) worker.before = totals;
}

void InputMonitor::left(Rank rank) {
  workers_.erase(rank);
  views_.erase(rank);
  starved_.erase(rank);
  fairness_.forget(rank);
}

std::vector<InputMonitor::Word> InputMonitor::judge(Time now) {
  window_ends_ = now + window_;
  const Windows windows = take_windows();
  fairness_.judge(windows.read, windows.absent);
  show(windows);
  return words(windows);
}

// Leaves out workers without demand, and workers that have not reported. The latter continue their
// window, and keep their state for up to kMostAbsent windows.
InputMonitor::Windows InputMonitor::take_windows() {
  Windows windows;
  for (auto& [rank, worker] : workers_) {
    if (!worker.before) continue;
    InputDelivery delivery = between(*worker.before, *worker.latest);
    if (delivery.length < window_ / 4) {
      if (worker.absent_windows >= kMostAbsent) continue;
      ++worker.absent_windows;
      windows.absent.insert(rank);
      continue;
    }
    worker.absent_windows = 0;
    worker.before = worker.latest;
    if (const std::uint64_t limit = limit_of(rank); limit != 0) {
      delivery.in_flight_bytes = std::min(delivery.in_flight_bytes, limit);
    }
    if (delivery.demanded_bytes > 0) windows.read[rank] = delivery;
  }
  return windows;
}

void InputMonitor::show(const Windows& windows) {
  std::erase_if(views_, [&](const auto& view) { return windows.absent.count(view.first) == 0; });
  const InputFairness::Judgement& judgement = fairness_.latest();
  const double usual = middle_rate(windows.read);
  for (const auto& [rank, delivery] : windows.read) {
    InputView& view = views_[rank];
    view = {.bytes_per_s = delivery.rate(),
            .share = judgement.shares.at(rank),
            .stall_share = stall_share(delivery),
            .limit_bytes = limit_of(rank),
            .word = {}};
    const bool content = view.stall_share < kNoStall && view.bytes_per_s < kLowDemand * usual;
    if (content) view.word = name_of(Starvation::kLowDemand);
  }
  for (const InputFairness::Alarm& alarm : judgement.alarms) {
    views_[alarm.rank].word = name_of(alarm.cause);
  }
}

std::vector<InputMonitor::Word> InputMonitor::words(const Windows& windows) {
  std::vector<Word> words;
  std::map<Rank, Said> starved;
  for (const InputFairness::Alarm& alarm : fairness_.latest().alarms) {
    if (alarm.cause == Starvation::kLowDemand) continue;  // Nothing is wrong.
    const auto known = starved_.find(alarm.rank);
    Said& said = starved[alarm.rank];
    if (known != starved_.end()) said = known->second;
    ++said.windows;
    said.other_windows = said.cause == alarm.cause ? 0 : said.other_windows + 1;
    const bool begins = known == starved_.end();
    if (!begins && said.other_windows < kSureWindows) continue;
    if (begins) ++alarms_;
    said.cause = alarm.cause;
    said.other_windows = 0;
    const InputView& view = views_.at(alarm.rank);
    words.push_back(
        {true, fmt::format("input: {}; it waits {:.0f} % of the time and reads {:.1f} MB/s",
                           alarm.describe(), 100 * view.stall_share, view.bytes_per_s / 1e6)});
  }
  for (const auto& [rank, said] : starved_) {
    if (starved.count(rank) != 0) continue;
    if (windows.absent.count(rank) != 0) {
      starved[rank] = said;
      ++starved[rank].windows;
    } else {
      words.push_back({false, windows.read.count(rank) != 0 ? again(rank, said) : over(rank)});
    }
  }
  starved_ = std::move(starved);
  return words;
}

std::string InputMonitor::again(Rank rank, const Said& said) const {
  return fmt::format(
      "input: worker {} gets its share again, after {:.0f} s: {:.0f} % of the data that it asks "
      "for",
      rank, said.windows * seconds(window_), 100 * views_.at(rank).share);
}

// The worker reported a whole window without demand, or stopped reporting.
std::string InputMonitor::over(Rank rank) const {
  const bool told = workers_.at(rank).absent_windows == 0;
  return fmt::format("input: worker {} {} any more", rank,
                     told ? "reads nothing" : "tells nothing of its input");
}

std::string InputMonitor::metrics() const {
  std::string text;
  const auto head = [&](std::string_view name, std::string_view type, std::string_view help) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  };
  head("stretto_input_fairness", "gauge", "Jain's index of the workers' input shares.");
  text += fmt::format("stretto_input_fairness {}\n", index());
  head("stretto_input_alarms_total", "counter", "Times that a worker was found to be starved.");
  text += fmt::format("stretto_input_alarms_total {}\n", alarms_);
  const auto family = [&](std::string_view name, std::string_view help, auto number) {
    head(name, "gauge", help);
    for (const auto& [rank, view] : views_) {
      text += fmt::format("{}{{rank=\"{}\"}} {}\n", name, rank, number(view));
    }
  };
  family("stretto_input_bytes_per_second", "What the worker's readers deliver.",
         [](const InputView& view) { return view.bytes_per_s; });
  family("stretto_input_share", "Of the data that the worker asks for, what it gets.",
         [](const InputView& view) { return view.share; });
  family("stretto_input_stall_share", "Part of the time that the worker waits for data.",
         [](const InputView& view) { return view.stall_share; });
  family("stretto_input_limit_bytes", "What the worker is held to in flight; 0: no limit.",
         [](const InputView& view) { return view.limit_bytes; });
  return text;
}

}  // namespace stretto
