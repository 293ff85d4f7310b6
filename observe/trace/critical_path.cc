// SPDX-License-Identifier: Apache-2.0
// The backward walk: each step goes to the predecessor that finished last. The link gets the time
// between a worker and a server, except while either did not receive or send.
#include <algorithm>

#include "observe/trace/analysis.h"

namespace stretto::trace {
namespace {

const Iteration& last_of(const std::vector<Iteration>& workers) {
  return *std::max_element(workers.begin(), workers.end(),
                           [](const Iteration& a, const Iteration& b) { return a.end < b.end; });
}

const Flow* last_value(const Iteration& iteration) {
  const Flow* last = nullptr;
  for (const Flow* flow : iteration.flows) {
    if (last == nullptr || flow->end().value_or(0) > last->end().value_or(0)) last = flow;
  }
  return last;
}

// The contribution to the same round and part that was summed last before `until`, by any worker.
std::pair<const Flow*, const Iteration*> completes(const Flow& value, std::int64_t until,
                                                   const std::vector<Iteration>& workers) {
  std::pair<const Flow*, const Iteration*> last{nullptr, nullptr};
  for (const Iteration& iteration : workers) {
    for (const Flow* flow : iteration.flows) {
      const bool same = flow->key.tensor == value.key.tensor && flow->key.part == value.key.part &&
                        flow->key.round == value.key.round;
      if (!same || !flow->summed || !flow->sent || !flow->arrived || *flow->summed > until)
        continue;
      if (last.first == nullptr || *flow->summed > *last.first->summed) last = {flow, &iteration};
    }
  }
  return last;
}

// Splits the way of a contribution to its server, or of a value back, into the server's time and
// the worker's time; the rest is the link's.
struct Leg {
  Spans whole;  // Empty if unknown.
  Spans server;
  Spans worker;
  Spans link;
};
enum class Way { kThere, kBack };

// The time since which a server worked without a pause until it processed what arrived then.
std::int64_t taken_up(const Turning& server, std::int64_t arrived) {
  const auto after =
      std::upper_bound(server.busy.begin(), server.busy.end(), arrived,
                       [](std::int64_t at, const Span& span) { return at < span.begin; });
  if (after == server.busy.begin()) return arrived;
  const Span& span = *std::prev(after);
  return span.end < arrived ? arrived : span.begin;
}

Leg leg_of(const Flow& flow, std::size_t worker, Way way, const std::vector<Turning>& turning) {
  const auto& begin = way == Way::kThere ? flow.queued : flow.ready;
  const auto& end = way == Way::kThere ? flow.arrived : flow.came;
  if (!begin || !end || *begin >= *end) return {};
  const Turning& server = turning[flow.server];
  Leg leg{.whole = {{*begin, *end}}, .server = {}, .worker = {}, .link = {}};
  // The server cannot delay a frame before the worker has sent it.
  const std::int64_t sent = way == Way::kThere ? flow.sent.value_or(*end) : *begin;
  const Spans in_flight = {{std::min(sent, *end), *end}};
  leg.server = common_of(in_flight, server.stalls);
  if (way == Way::kThere) {
    leg.server.push_back({std::max(in_flight.front().begin, taken_up(server, *end)), *end});
    leg.server = joined(std::move(leg.server));
  }
  const Spans rest = without(leg.whole, leg.server);
  leg.worker = common_of(rest, turning[worker].stalls);
  leg.link = without(rest, leg.worker);
  return leg;
}

// The node whose link is slow: the worker, if its flows with other servers are slow too; the
// server, if flows between it and other workers are; else the link between the two.
std::pair<std::size_t, std::size_t> ends_of(const Flow& slow, std::size_t worker, Way way,
                                            const std::vector<Iteration>& workers,
                                            const std::vector<Turning>& turning) {
  const std::int64_t much = length_of(leg_of(slow, worker, way, turning).link) / 2;
  bool others_here = false;
  bool own_elsewhere = false;
  for (const Iteration& iteration : workers) {
    const bool own = iteration.worker == worker;
    for (const Flow* flow : iteration.flows) {
      if (own == (flow->server == slow.server)) continue;
      if (length_of(leg_of(*flow, iteration.worker, way, turning).link) < much) continue;
      (own ? own_elsewhere : others_here) = true;
    }
  }
  if (own_elsewhere == others_here) return {worker, slow.server};
  return {own_elsewhere ? worker : slow.server, kNobody};
}

class PathWalk {
 public:
  explicit PathWalk(std::int64_t end) : at_(end) {}

  std::int64_t at() const { return at_; }
  /// Back to `begin`.
  void add(Cause cause, std::size_t node, std::int64_t begin) {
    begin = std::min(begin, at_);
    if (begin < at_) path_.push_back({cause, node, kNobody, begin, at_});
    at_ = begin;
  }
  /// Back along a flow between a worker and a server.
  void add_leg(const Flow& flow, std::size_t worker, Way way, const std::vector<Iteration>& workers,
               const std::vector<Turning>& turning) {
    const Leg leg = leg_of(flow, worker, way, turning);
    if (leg.whole.empty()) return;
    const Spans open = {{std::min(leg.whole.front().begin, at_), at_}};
    const auto give = [&](Cause cause, std::size_t node, std::size_t peer, const Spans& spans) {
      for (const Span& span : common_of(open, spans)) {
        path_.push_back({cause, node, peer, span.begin, span.end});
      }
    };
    give(Cause::kServerQueue, flow.server, kNobody, leg.server);
    give(Cause::kCompute, worker, kNobody, leg.worker);
    const auto [node, peer] = ends_of(flow, worker, way, workers, turning);
    const Cause cause = way == Way::kThere ? Cause::kPush : Cause::kPull;
    give(cause, node, peer, leg.link);
    give(cause, node, peer, without(open, leg.whole));  // Counts as slack of the following segment.
    at_ = open.front().begin;
  }
  /// Back through the worker's own work.
  void add_work(const Iteration& worker) {
    Spans rest = {{std::min(worker.begin, at_), at_}};
    const auto give = [&](Cause cause, const Spans& spans) {
      for (const Span& span : common_of(rest, spans)) {
        path_.push_back({cause, worker.worker, kNobody, span.begin, span.end});
      }
      rest = without(rest, spans);
    };
    give(Cause::kInput, worker.input);
    give(Cause::kStaging, worker.staging);
    give(Cause::kCompute, Spans(rest));
  }
  std::vector<Segment> path() && {
    std::sort(path_.begin(), path_.end(),
              [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
    return std::move(path_);
  }

 private:
  std::int64_t at_;
  std::vector<Segment> path_;
};

}  // namespace

std::vector<Segment> critical_path(const std::vector<Iteration>& workers,
                                   const std::vector<Turning>& turning) {
  const Iteration& last = last_of(workers);
  const Flow* value = last_value(last);
  if (value == nullptr) return {};
  PathWalk walk(last.end);
  if (value->came && value->answered && value->ready) {
    if (value->decoded) walk.add(Cause::kStaging, last.worker, *value->came);
    walk.add_leg(*value, last.worker, Way::kBack, workers, turning);
  }
  constexpr std::int64_t kSlackNs = 1000;  // Records of one moment, in either order.
  const auto [share, theirs] = completes(*value, walk.at() + kSlackNs, workers);
  if (share == nullptr) return std::move(walk).path();
  walk.add(Cause::kServerQueue, share->server, *share->arrived);
  walk.add_leg(*share, theirs->worker, Way::kThere, workers, turning);
  if (share->encoding) walk.add(Cause::kStaging, theirs->worker, *share->encoding);
  walk.add_work(*theirs);
  return std::move(walk).path();
}

}  // namespace stretto::trace
