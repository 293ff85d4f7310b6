// SPDX-License-Identifier: Apache-2.0
// Sums over iterations. A cause is judged by its excess: the time of a critical-path segment beyond
// that of other workers in the same iteration. Segments between workers and servers are compared
// with other iterations, since there may be only one link.
#include "observe/trace/analysis.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace stretto::trace {
namespace {

std::int64_t median(std::vector<std::int64_t> times) {
  if (times.empty()) return 0;
  // The lower median: with two workers the faster one is the norm.
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

using Times = std::array<std::int64_t, kCauses>;

// Typical times of an iteration: medians over workers, or over all flows.
Times usual_of(const std::vector<Iteration>& workers) {
  std::array<std::vector<std::int64_t>, kCauses> times;
  const auto add = [&times](Cause cause, std::int64_t time) {
    times[static_cast<std::size_t>(cause)].push_back(std::max<std::int64_t>(time, 0));
  };
  for (const Iteration& iteration : workers) {
    if (workers.size() > 1) {  // A single worker has no comparison: all of its time counts.
      add(Cause::kCompute, length_of(iteration.compute));
      add(Cause::kInput, length_of(iteration.input));
      add(Cause::kStaging, length_of(iteration.staging));
    }
    for (const Flow* flow : iteration.flows) {
      if (flow->arrived) add(Cause::kPush, *flow->arrived - *flow->queued);
      if (flow->arrived && flow->summed) add(Cause::kServerQueue, *flow->summed - *flow->arrived);
      if (flow->answered && flow->came) add(Cause::kPull, *flow->came - *flow->answered);
    }
  }
  Times usual{};
  for (std::size_t i = 0; i < kCauses; ++i) usual[i] = median(std::move(times[i]));
  return usual;
}

// Medians over all iterations; none for workers' own time, which may vary by iteration for all of
// them.
Times middle_of(const std::vector<Times>& usual) {
  Times middle;
  middle.fill(std::numeric_limits<std::int64_t>::max());
  for (const Cause cause : {Cause::kPush, Cause::kServerQueue, Cause::kPull}) {
    const auto i = static_cast<std::size_t>(cause);
    std::vector<std::int64_t> times;
    for (const Times& one : usual) times.push_back(one[i]);
    middle[i] = median(std::move(times));
  }
  return middle;
}

// Time by cause, node and peer.
using Blame = std::map<std::tuple<Cause, std::size_t, std::size_t>, std::int64_t>;

void judge(const Times& usual, const Times& middle, IterationReport& report) {
  Blame spent;
  for (const Segment& segment : report.critical) {
    spent[{segment.cause, segment.node, segment.peer}] += segment.end - segment.begin;
  }
  report.excess_ns = -1;
  for (const auto& [who, time] : spent) {
    const auto cause = static_cast<std::size_t>(std::get<Cause>(who));
    const std::int64_t excess =
        std::max<std::int64_t>(0, time - std::min(usual[cause], middle[cause]));
    if (excess <= report.excess_ns) continue;
    report.excess_ns = excess;
    std::tie(report.cause, report.culprit, report.peer) = who;
  }
  report.excess_ns = std::max<std::int64_t>(0, report.excess_ns);
}

IterationReport report_of(const std::vector<Iteration>& workers,
                          const std::vector<Turning>& turning) {
  const Iteration& last =
      *std::max_element(workers.begin(), workers.end(),
                        [](const Iteration& a, const Iteration& b) { return a.end < b.end; });
  IterationReport report;
  report.number = last.number;
  report.makespan_ns = last.end - last.begin;
  Spans moving;
  for (const Flow* flow : last.flows) {
    const auto end = flow->came ? flow->came : flow->summed;  // Decoding is not communication.
    if (flow->sent && end && *flow->sent < *end) moving.push_back({*flow->sent, *end});
  }
  moving = joined(std::move(moving));
  Spans compute = last.compute;
  compute.insert(compute.end(), last.input.begin(), last.input.end());
  compute = joined(std::move(compute));
  report.compute_ns = length_of(compute);
  report.communication_ns = length_of(moving);
  report.overlap_ns = length_of(common_of(compute, moving));
  const std::int64_t most = report.compute_ns + report.communication_ns;
  const std::int64_t least = std::max(report.compute_ns, report.communication_ns);
  if (most > least) {
    report.efficiency =
        static_cast<double>(most - report.makespan_ns) / static_cast<double>(most - least);
    report.efficiency = std::clamp(report.efficiency, 0.0, 1.0);
  }
  report.critical = critical_path(workers, turning);
  report.culprit = last.worker;
  return report;
}

// Counts frames that were sent while a more urgent frame waited for the same link.
void count_order(const Node& node, Analysis& analysis) {
  struct Event {
    std::int64_t at;
    bool queued;
    std::uint32_t peer;
    std::int32_t priority;
  };
  std::vector<Event> events;
  for (const TraceRecord& record : node.records) {
    if (record.kind == TraceKind::kPreempt) ++analysis.preemptions;
    if (record.kind != TraceKind::kQueueWait) continue;
    events.push_back({record.begin_ns, true, record.peer, record.priority});
    events.push_back({record.end_ns, false, record.peer, record.priority});
  }
  // At equal times sending precedes queueing: a frame queued then could not have been chosen.
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.at, a.queued, b.priority) < std::tie(b.at, b.queued, a.priority);
  });
  std::map<std::uint32_t, std::multiset<std::int32_t>> waiting;
  for (const Event& event : events) {
    std::multiset<std::int32_t>& here = waiting[event.peer];
    if (event.queued) {
      here.insert(event.priority);
      continue;
    }
    const auto own = here.find(event.priority);
    if (own != here.end()) here.erase(own);
    ++analysis.frames;
    if (!here.empty() && *here.rbegin() > event.priority) ++analysis.order_violations;
  }
}

// Iterations of all workers show which worker waited for another. If workers may run ahead, their
// last iterations lack the stragglers. Without common iterations, all are used.
std::map<std::uint64_t, std::vector<Iteration>> shared_of(
    std::map<std::uint64_t, std::vector<Iteration>> iterations) {
  std::set<std::size_t> all;
  for (const auto& [number, workers] : iterations) {
    for (const Iteration& iteration : workers) all.insert(iteration.worker);
  }
  const auto lacks = [&all](const auto& item) { return item.second.size() < all.size(); };
  if (!std::all_of(iterations.begin(), iterations.end(), lacks)) std::erase_if(iterations, lacks);
  return iterations;
}

}  // namespace

std::string_view name_of(Cause cause) {
  constexpr std::string_view kNames[] = {"compute",      "input", "push",
                                         "server_queue", "pull",  "staging"};
  return kNames[static_cast<std::size_t>(cause)];
}

Analysis analyse(const Trace& trace) {
  Analysis analysis;
  Flows flows = flows_of(trace);
  flows.iterations = shared_of(std::move(flows.iterations));
  std::vector<Times> usual;
  for (const auto& [number, workers] : flows.iterations) usual.push_back(usual_of(workers));
  const Times middle = middle_of(usual);
  Blame blame;
  for (const auto& [number, workers] : flows.iterations) {
    IterationReport report = report_of(workers, flows.turning);
    judge(usual[analysis.iterations.size()], middle, report);
    for (const Segment& segment : report.critical) {
      analysis.critical_ns[static_cast<std::size_t>(segment.cause)] += segment.end - segment.begin;
    }
    analysis.excess_ns[static_cast<std::size_t>(report.cause)] += report.excess_ns;
    blame[{report.cause, report.culprit, report.peer}] += report.excess_ns;
    analysis.iterations.push_back(std::move(report));
  }
  std::vector<std::int64_t> makespans;
  for (const IterationReport& report : analysis.iterations) makespans.push_back(report.makespan_ns);
  analysis.standstill = standstill_of(trace, flows, median(std::move(makespans)));
  std::int64_t most = -1;
  for (const auto& [who, time] : blame) {
    if (time <= most) continue;
    most = time;
    std::tie(analysis.cause, analysis.culprit, analysis.peer) = who;
  }
  for (const Node& node : trace.nodes) {
    count_order(node, analysis);
    analysis.dropped += node.dropped;
  }
  return analysis;
}

}  // namespace stretto::trace
