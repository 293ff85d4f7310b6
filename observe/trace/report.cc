// SPDX-License-Identifier: Apache-2.0
// Formats an analysis as text and JSON.
#include "observe/trace/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace stretto::trace {
namespace {

using Json = nlohmann::json;

double milliseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

std::string node_name(const Trace& trace, std::size_t place) {
  return place < trace.nodes.size() ? trace.nodes[place].name() : "nobody";
}

// The slow node, or both ends of a slow link: "worker 1", "worker 1 and server 0".
std::string who_of(const Trace& trace, std::size_t node, std::size_t peer) {
  const std::string name = node_name(trace, node);
  return peer == kNobody ? name : name + " and " + node_name(trace, peer);
}

// "computing of worker 1", "shares on their way over the link between worker 1 and server 0".
std::string in_words(const Trace& trace, Cause cause, std::size_t node, std::size_t peer) {
  constexpr std::string_view kWords[] = {"computing",
                                         "reading input",
                                         "shares on their way there over the link",
                                         "the server's queue",
                                         "values on their way back over the link",
                                         "codecs and copies"};
  return fmt::format("{} {} {}", kWords[static_cast<std::size_t>(cause)],
                     peer == kNobody ? "of" : "between", who_of(trace, node, peer));
}

struct Totals {
  std::int64_t makespan = 0;
  std::int64_t compute = 0;
  std::int64_t communication = 0;
  std::int64_t overlap = 0;
  double efficiency = 0;  // Of the median iteration.
};

Totals totals_of(const Analysis& analysis) {
  Totals totals;
  std::vector<double> efficiencies;
  for (const IterationReport& report : analysis.iterations) {
    totals.makespan += report.makespan_ns;
    totals.compute += report.compute_ns;
    totals.communication += report.communication_ns;
    totals.overlap += report.overlap_ns;
    efficiencies.push_back(report.efficiency);
  }
  if (!efficiencies.empty()) {
    const auto middle = efficiencies.begin() + static_cast<std::ptrdiff_t>(efficiencies.size() / 2);
    std::nth_element(efficiencies.begin(), middle, efficiencies.end());
    totals.efficiency = *middle;
  }
  return totals;
}

// "workers 1 and 2", "worker 1".
std::string workers_in_words(const Trace& trace, const std::vector<std::size_t>& places) {
  constexpr std::size_t kMostNames = 8;
  if (places.size() == 1) return node_name(trace, places.front());
  std::string text = "workers";
  const std::size_t told = std::min(places.size(), kMostNames);
  for (std::size_t i = 0; i < told; ++i) {
    const bool last = i + 1 == places.size();
    text += fmt::format("{} {}", last ? " and" : (i == 0 ? "" : ","), trace.nodes[places[i]].rank);
  }
  return told < places.size() ? fmt::format("{} and {} more", text, places.size() - told) : text;
}

std::string wait_in_words(const Trace& trace, const Standstill::Wait& wait) {
  using What = Standstill::What;
  const std::string workers = workers_in_words(trace, wait.workers);
  const std::string server = wait.server == kNobody ? "its server" : node_name(trace, wait.server);
  const bool one = wait.tensors == 1;
  const std::string tensors = fmt::format("{} tensor{}", wait.tensors, one ? "" : "s");
  switch (wait.what) {
    case What::kPush:
      return fmt::format("{} at {} wait{} for the push of {}", tensors, server, one ? "s" : "",
                         workers);
    case What::kInFlight:
      return fmt::format("the push of {} by {} has not reached {}", tensors, workers, server);
    case What::kAnswer:
      return fmt::format("{} has sent {} no value of {} that all have pushed", server, workers,
                         tensors);
    case What::kValue:
      return fmt::format("the value of {} by {} has not reached {}", tensors, server, workers);
  }
  return "";
}

// Empty if the trace has no stall at its end.
std::string standstill_in_words(const Trace& trace, const Standstill& standstill) {
  if (standstill.ns == 0) return "";
  const double seconds = milliseconds(standstill.ns) / 1000;
  if (standstill.nothing) {
    return fmt::format(
        "none of {} nodes pushed or answered anything in {:.1f} s: the job stands still since "
        "before "
        "this trace, or computes; stretto-top tells who is behind, and STRETTO_TRACE keeps what "
        "comes before",
        trace.nodes.size(), seconds);
  }
  constexpr std::size_t kMostWaits = 5;
  const auto& waits = standstill.waits;
  std::string text = fmt::format("for the last {:.1f} s nothing moved: ", seconds);
  for (std::size_t i = 0; i < waits.size() && i < kMostWaits; ++i) {
    text += (i == 0 ? "" : "; ") + wait_in_words(trace, waits[i]);
  }
  if (waits.size() > kMostWaits) text += fmt::format("; and {} more", waits.size() - kMostWaits);
  return waits.empty() ? text + "no push waits for an answer, so the workers did something else"
                       : text;
}

std::string verdict_of(const Trace& trace, const Analysis& analysis) {
  std::string standstill = standstill_in_words(trace, analysis.standstill);
  if (!standstill.empty()) {
    if (analysis.iterations.empty()) return standstill;
    Analysis before = analysis;
    before.standstill = {};
    return fmt::format("{}; before that, {}", standstill, verdict_of(trace, before));
  }
  if (analysis.iterations.empty()) {
    return "no whole iteration is in this trace: trace at least three, of operations that push";
  }
  const auto count = static_cast<double>(analysis.iterations.size());
  const std::int64_t excess = analysis.excess_ns[static_cast<std::size_t>(analysis.cause)];
  return fmt::format("mostly waited for {}: {:.2f} ms an iteration more than is usual",
                     in_words(trace, analysis.cause, analysis.culprit, analysis.peer),
                     milliseconds(excess) / count);
}

Json segments_json(const Trace& trace, const IterationReport& report) {
  Json segments = Json::array();
  for (const Segment& segment : report.critical) {
    segments.push_back({{"cause", std::string(name_of(segment.cause))},
                        {"who", who_of(trace, segment.node, segment.peer)},
                        {"begin_ms", milliseconds(segment.begin)},
                        {"ms", milliseconds(segment.end - segment.begin)}});
  }
  return segments;
}

}  // namespace

std::string report_text(const Trace& trace, const Analysis& analysis) {
  std::string text = verdict_of(trace, analysis) + "\n\n";
  text += fmt::format("{:>9} {:>9} {:>9} {:>9} {:>9} {:>5}  {:<13} {:<21} {:>9}\n", "iteration",
                      "took ms", "compute", "communic.", "overlap", "E", "held up by", "of",
                      "excess ms");
  constexpr std::size_t kMostLines = 50;
  for (std::size_t i = 0; i < analysis.iterations.size() && i < kMostLines; ++i) {
    const IterationReport& report = analysis.iterations[i];
    text +=
        fmt::format("{:>9} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>5.2f}  {:<13} {:<21} {:>9.2f}\n",
                    report.number, milliseconds(report.makespan_ns),
                    milliseconds(report.compute_ns), milliseconds(report.communication_ns),
                    milliseconds(report.overlap_ns), report.efficiency, name_of(report.cause),
                    who_of(trace, report.culprit, report.peer), milliseconds(report.excess_ns));
  }
  if (analysis.iterations.size() > kMostLines) {
    text += fmt::format("... and {} more\n", analysis.iterations.size() - kMostLines);
  }
  std::int64_t all = 0;
  for (const std::int64_t time : analysis.critical_ns) all += time;
  text += "\nof the critical paths:";
  for (std::size_t i = 0; i < kCauses; ++i) {
    const double share =
        all == 0 ? 0
                 : 100 * static_cast<double>(analysis.critical_ns[i]) / static_cast<double>(all);
    text += fmt::format(" {} {:.0f} %", name_of(static_cast<Cause>(i)), share);
  }
  text += fmt::format("\n{} of {} frames left while a more urgent one waited; {} preemptions\n",
                      analysis.order_violations, analysis.frames, analysis.preemptions);
  if (analysis.dropped > 0) {
    text += fmt::format("{} records were dropped for want of room: times may be too short\n",
                        analysis.dropped);
  }
  return text;
}

std::string report_json(const Trace& trace, const Analysis& analysis) {
  const Totals totals = totals_of(analysis);
  Json iterations = Json::array();
  for (const IterationReport& report : analysis.iterations) {
    iterations.push_back({{"number", report.number},
                          {"makespan_ms", milliseconds(report.makespan_ns)},
                          {"compute_ms", milliseconds(report.compute_ns)},
                          {"communication_ms", milliseconds(report.communication_ns)},
                          {"overlap_ms", milliseconds(report.overlap_ns)},
                          {"efficiency", report.efficiency},
                          {"cause", std::string(name_of(report.cause))},
                          {"culprit", who_of(trace, report.culprit, report.peer)},
                          {"excess_ms", milliseconds(report.excess_ns)},
                          {"critical_path", segments_json(trace, report)}});
  }
  Json critical = Json::object();
  Json excess = Json::object();
  for (std::size_t i = 0; i < kCauses; ++i) {
    const std::string name(name_of(static_cast<Cause>(i)));
    critical[name] = milliseconds(analysis.critical_ns[i]);
    excess[name] = milliseconds(analysis.excess_ns[i]);
  }
  const bool any = !analysis.iterations.empty();
  const Json all = {{"verdict", verdict_of(trace, analysis)},
                    {"standstill_ms", milliseconds(analysis.standstill.ns)},
                    {"standstill", standstill_in_words(trace, analysis.standstill)},
                    {"cause", any ? std::string(name_of(analysis.cause)) : ""},
                    {"culprit", any ? who_of(trace, analysis.culprit, analysis.peer) : ""},
                    {"makespan_ms", milliseconds(totals.makespan)},
                    {"compute_ms", milliseconds(totals.compute)},
                    {"communication_ms", milliseconds(totals.communication)},
                    {"overlap_ms", milliseconds(totals.overlap)},
                    {"efficiency", totals.efficiency},
                    {"critical_ms", std::move(critical)},
                    {"excess_ms", std::move(excess)},
                    {"frames", analysis.frames},
                    {"order_violations", analysis.order_violations},
                    {"preemptions", analysis.preemptions},
                    {"dropped", analysis.dropped},
                    {"spans", trace.records()},
                    {"iterations", std::move(iterations)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stretto::trace
