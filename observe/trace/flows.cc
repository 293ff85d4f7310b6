// SPDX-License-Identifier: Apache-2.0
// An iteration begins where a worker pushes again after its longest pause. The tensor after that
// pause gives the round's number.
#include "observe/trace/flows.h"

#include <algorithm>
#include <tuple>

namespace stretto::trace {
namespace {

void take(Flow& flow, const Node& node, std::size_t place, const TraceRecord& record) {
  const bool worker = node.role == Role::kWorker;
  const bool push = record.frame == kPushFrame;
  if (!worker) flow.server = place;
  if (push) {
    flow.priority = record.priority;
    flow.bytes = std::max(flow.bytes, record.bytes);
  }
  switch (record.kind) {
    case TraceKind::kQueueWait:
      if (worker == push) (push ? flow.queued : flow.ready) = record.begin_ns;
      return;
    case TraceKind::kSend:
      if (worker == push) (push ? flow.sent : flow.answered) = record.begin_ns;
      return;
    case TraceKind::kReceive:
      if (worker != push) (push ? flow.arrived : flow.came) = record.end_ns;
      return;
    case TraceKind::kSum:
    case TraceKind::kUpdate:
      flow.summed = record.end_ns;
      return;
    case TraceKind::kCodec:
      if (!worker) return;
      push ? flow.encoding = record.begin_ns : flow.decoded = record.end_ns;
      return;
    default:
      return;
  }
}

struct Push {
  std::int64_t at;
  std::uint32_t tensor;
  std::uint64_t round;
};

// The first push of each tensor's round by a worker.
std::vector<Push> pushes_of(const Flows& flows, std::uint32_t worker) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t> first;
  const FlowKey begin{worker, 0, 0, 0};
  for (auto it = flows.all.lower_bound(begin); it != flows.all.end(); ++it) {
    if (it->first.worker != worker) break;
    if (!it->second.queued) continue;
    auto [known, is_new] =
        first.try_emplace({it->first.tensor, it->first.round}, *it->second.queued);
    if (!is_new) known->second = std::min(known->second, *it->second.queued);
  }
  std::vector<Push> pushes;
  for (const auto& [key, at] : first) pushes.push_back({at, key.first, key.second});
  std::sort(pushes.begin(), pushes.end(), [](const Push& a, const Push& b) {
    return std::tie(a.at, a.tensor) < std::tie(b.at, b.tensor);
  });
  return pushes;
}

// The tensor with the longest median pause before it.
std::uint32_t anchor_of(const std::vector<Push>& pushes) {
  std::map<std::uint32_t, std::vector<std::int64_t>> pauses;
  for (std::size_t i = 1; i < pushes.size(); ++i) {
    pauses[pushes[i].tensor].push_back(pushes[i].at - pushes[i - 1].at);
  }
  std::uint32_t anchor = pushes.empty() ? 0 : pushes.front().tensor;
  std::int64_t longest = -1;
  std::size_t most = 0;
  for (const auto& [tensor, times] : pauses) most = std::max(most, times.size());
  for (auto& [tensor, times] : pauses) {
    if (times.size() < (most + 1) / 2) continue;  // Not in every iteration: a last result.
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    if (*middle > longest) {
      longest = *middle;
      anchor = tensor;
    }
  }
  return anchor;
}

// Activities of a worker's user thread in the whole trace, by kind: computed once, not for every
// iteration.
struct Noted {
  Spans compute;
  Spans pull_wait;
  Spans stage;
  Spans input;
  Spans codec;
};

Noted noted_of(const Node& node) {
  const auto all_of = [&node](TraceKind kind) {
    Spans spans;
    for (const TraceRecord& record : node.records) {
      if (record.kind == kind && record.begin_ns < record.end_ns) {
        spans.push_back({record.begin_ns, record.end_ns});
      }
    }
    return joined(std::move(spans));
  };
  return {.compute = all_of(TraceKind::kCompute),
          .pull_wait = all_of(TraceKind::kPullWait),
          .stage = all_of(TraceKind::kStage),
          .input = all_of(TraceKind::kInput),
          .codec = all_of(TraceKind::kCodec)};
}

// The program's computation: as recorded, or all time outside of waits. Without recorded waits only
// the time before the first push is known.
Spans computing_of(const Noted& noted, const Iteration& iteration) {
  const Spans whole = {{iteration.begin, iteration.end}};
  Spans told = common_of(whole, noted.compute);
  if (!told.empty()) return told;
  const Spans waits = common_of(whole, noted.pull_wait);
  Spans busy = whole;
  if (waits.empty()) {
    std::int64_t first = iteration.end;
    for (const Flow* flow : iteration.flows) first = std::min(first, *flow->queued);
    busy.front().end = std::max(first, iteration.begin);
  }
  busy = without(without(busy, waits), iteration.input);
  // A thread that waits for a copy does not wait for a ticket.
  return without(busy, common_of(whole, noted.stage));
}

void add_user(const Noted& noted, Iteration& iteration) {
  const Spans whole = {{iteration.begin, iteration.end}};
  iteration.input = common_of(whole, noted.input);
  iteration.compute = computing_of(noted, iteration);
  iteration.staging = common_of(whole, noted.codec);
  for (const Span& copy : common_of(whole, noted.stage)) {
    iteration.staging.push_back(copy);
  }
  iteration.staging =
      without(without(joined(std::move(iteration.staging)), iteration.compute), iteration.input);
}

// A server with records closer than this works in between: at frame sizes of ten thousand per
// second it has no time to wait.
constexpr std::int64_t kPauseNs = 100'000;

Turning turning_of(const Node& node) {
  Turning turning;
  for (const TraceRecord& record : node.records) {
    const Span span{record.begin_ns, record.end_ns};
    switch (record.kind) {
      case TraceKind::kStall:
        turning.stalls.push_back(span);
        break;
      case TraceKind::kSum:
      case TraceKind::kUpdate:
      case TraceKind::kCodec:
        turning.busy.push_back({span.begin, span.end + kPauseNs});
        break;
      case TraceKind::kSend:  // It may wait between the first slice and the last.
        turning.busy.push_back({span.begin, span.begin + kPauseNs});
        [[fallthrough]];
      case TraceKind::kReceive:
        turning.busy.push_back({span.end, span.end + kPauseNs});
        break;
      default:
        break;
    }
  }
  turning.stalls = joined(std::move(turning.stalls));
  if (node.role == Role::kWorker) turning.busy.clear();
  turning.busy = joined(std::move(turning.busy));
  for (Span& span : turning.busy) span.end -= kPauseNs;
  return turning;
}

void add_iterations(const Trace& trace, std::size_t place, std::uint32_t anchor, Flows& flows) {
  const Node& node = trace.nodes[place];
  std::vector<Iteration> found;
  for (const Push& push : pushes_of(flows, node.node)) {
    if (push.tensor != anchor) continue;
    found.push_back({.number = push.round,
                     .worker = place,
                     .begin = push.at,
                     .end = 0,
                     .flows = {},
                     .compute = {},
                     .input = {},
                     .staging = {}});
  }
  std::vector<bool> whole(found.size(), true);
  for (auto it = flows.all.lower_bound({node.node, 0, 0, 0}); it != flows.all.end(); ++it) {
    if (it->first.worker != node.node) break;
    const Flow& flow = it->second;
    if (!flow.queued) continue;
    const auto after = std::upper_bound(
        found.begin(), found.end(), *flow.queued,
        [](std::int64_t at, const Iteration& iteration) { return at < iteration.begin; });
    if (after == found.begin()) continue;
    Iteration& iteration = *std::prev(after);
    iteration.flows.push_back(&flow);
    const auto end = flow.end();
    if (!end) whole[static_cast<std::size_t>(std::prev(after) - found.begin())] = false;
    iteration.end = std::max(iteration.end, end.value_or(0));
  }
  const Noted noted = noted_of(node);
  // The first iteration only marks the start of the second; a truncated one is useless.
  for (std::size_t i = 1; i < found.size(); ++i) {
    Iteration& iteration = found[i];
    const bool is_last = i + 1 == found.size();
    const bool cut = is_last && iteration.flows.size() < found[i - 1].flows.size();
    if (!whole[i] || !whole[i - 1] || cut) continue;
    iteration.begin = std::min(found[i - 1].end, iteration.begin);
    if (iteration.end <= iteration.begin) continue;
    add_user(noted, iteration);
    flows.iterations[iteration.number].push_back(iteration);
  }
}

}  // namespace

Spans joined(Spans spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  Spans out;
  for (const Span& span : spans) {
    if (!out.empty() && span.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, span.end);
    } else {
      out.push_back(span);
    }
  }
  return out;
}

std::int64_t length_of(const Spans& spans) {
  std::int64_t length = 0;
  for (const Span& span : spans) length += span.end - span.begin;
  return length;
}

Spans common_of(const Spans& a, const Spans& b) {
  Spans out;
  if (a.empty() || b.empty()) return out;
  const auto first = [](const Spans& spans, std::int64_t at) {
    const auto found = std::partition_point(spans.begin(), spans.end(),
                                            [at](const Span& s) { return s.end <= at; });
    return static_cast<std::size_t>(found - spans.begin());
  };
  std::size_t i = first(a, b.front().begin);
  std::size_t j = first(b, a.front().begin);
  while (i < a.size() && j < b.size()) {
    const Span both{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (both.begin < both.end) out.push_back(both);
    a[i].end < b[j].end ? ++i : ++j;
  }
  return out;
}

Spans without(const Spans& spans, const Spans& others) {
  Spans left;
  std::size_t next = 0;
  for (const Span& span : spans) {
    std::int64_t at = span.begin;
    while (next < others.size() && others[next].end <= at) ++next;
    for (std::size_t i = next; i < others.size() && others[i].begin < span.end; ++i) {
      if (others[i].begin > at) left.push_back({at, others[i].begin});
      at = std::max(at, others[i].end);
    }
    if (at < span.end) left.push_back({at, span.end});
  }
  return left;
}

Flows flows_of(const Trace& trace) {
  Flows flows;
  for (std::size_t place = 0; place < trace.nodes.size(); ++place) {
    const Node& node = trace.nodes[place];
    flows.turning.push_back(turning_of(node));
    for (const TraceRecord& record : node.records) {
      if (record.frame != kPushFrame && record.frame != kValueFrame) continue;
      Flow& flow = flows.all[flow_of(node, record)];
      flow.key = flow_of(node, record);
      take(flow, node, place, record);
    }
  }
  std::vector<Push> most;
  for (const Node& node : trace.nodes) {
    if (node.role != Role::kWorker) continue;
    std::vector<Push> pushes = pushes_of(flows, node.node);
    if (pushes.size() > most.size()) most = std::move(pushes);
  }
  const std::uint32_t anchor = anchor_of(most);
  for (std::size_t place = 0; place < trace.nodes.size(); ++place) {
    if (trace.nodes[place].role == Role::kWorker) add_iterations(trace, place, anchor, flows);
  }
  return flows;
}

}  // namespace stretto::trace
