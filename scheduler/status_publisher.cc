// SPDX-License-Identifier: Apache-2.0
// Snapshots for observers outside the job.
#include "scheduler/status_publisher.h"

#include <algorithm>

#include "common/clock.h"
#include "van/engine/van_metrics.h"

namespace stretto {
namespace {

constexpr Duration kShowEvery = 500ms;
constexpr std::size_t kNodesAPage = 500;

void add_input(const metrics::Adder& add, const InputView& input) {
  using metrics::Type;
  add("stretto_input_bytes_per_second", Type::kGauge, input.bytes_per_s,
      "What the worker's readers deliver.");
  add("stretto_input_share", Type::kGauge, input.share,
      "Of the data that the worker asks for, what it gets.");
  add("stretto_input_stall_share", Type::kGauge, input.stall_share,
      "Part of the time that the worker waits for data.");
  add("stretto_input_limit_bytes", Type::kGauge, input.limit_bytes,
      "What the worker is held to in flight; 0: no limit.");
}

void add_members(metrics::Metrics& made, const Snapshot& snapshot) {
  for (const Role role : {Role::kWorker, Role::kServer}) {
    const auto is_in = [role](const auto& entry) {
      return entry.second.member.role == role && !entry.second.member.left;
    };
    const metrics::Adder add(made, {{"role", std::string(name_of(role))}});
    add("stretto_members", metrics::Type::kGauge, std::ranges::count_if(snapshot.nodes(), is_in),
        "Nodes of the role that are in the job; each shard of a server is a node.");
  }
}

}  // namespace

void StatusPublisher::step(Duration wait) {
  scheduler_.step(wait);
  const Time now = clock_.now();
  if (pen_.due(now)) pen_.put(metrics_of(scheduler_, now), now);
  if (page_ != nullptr && now >= next_show_) {
    next_show_ = now + kShowEvery;
    show();
  }
}

Time StatusPublisher::next_due() const {
  return page_ == nullptr ? scheduler_.next_due() : std::min(scheduler_.next_due(), next_show_);
}

void StatusPublisher::show() {
  if (const auto wish = page_->take_wish()) {
    // Refused while a trace is active: then the page shows that trace.
    static_cast<void>(scheduler_.start_trace(wish->iterations, wish->seconds));
  }
  const Snapshot& snapshot = scheduler_.watch().snapshot();
  std::vector<std::string> pages;
  for (std::size_t first = 0; first == 0 || first < snapshot.nodes().size(); first += kNodesAPage) {
    pages.push_back(snapshot.json(scheduler_.phase(), first, clock_.now()));
  }
  const TraceSession& session = scheduler_.watch().trace();
  history_.look(snapshot, clock_.now());
  page_->show(std::move(pages), session.json(0), history_.json(clock_.now()));
  if (session.state() != TraceSession::State::kDone || session.number() == shown_trace_) return;
  shown_trace_ = session.number();
  auto trace = std::make_shared<trace::Trace>(session.trace());
  trace->tensors = scheduler_.tensor_names();
  page_->show_trace(std::move(trace));
}

metrics::Metrics metrics_of(const Scheduler& scheduler, Time now) {
  using metrics::Type;
  metrics::Metrics made = metrics_of(scheduler.van(), {{"role", "scheduler"}});
  for (const auto& [id, node] : scheduler.watch().snapshot().nodes()) {
    if (node.member.left) continue;
    const bool worker = node.member.role == Role::kWorker;
    const metrics::Adder add(made, {{"node", node.member.describe()}});
    add("stretto_node_heartbeats_total", Type::kCounter, static_cast<double>(node.heartbeats),
        "Heartbeats that have come from the node.");
    add("stretto_node_silence_seconds", Type::kGauge,
        node.heard == Time() ? 0 : seconds(now - node.heard), "Time since the last of them.");
    add("stretto_node_bytes_in_total", Type::kCounter, node.bytes_in,
        "Bytes that the node has received.");
    add("stretto_node_bytes_out_total", Type::kCounter, node.bytes_out,
        "Bytes that the node has sent.");
    add("stretto_node_waiting_frames", Type::kGauge, node.frames_waiting,
        "Frames that wait at the node to be sent.");
    add("stretto_node_under_way_bytes", Type::kGauge, node.bytes_in_flight,
        "Bytes that the node has sent and no peer has acknowledged.");
    if (!worker) continue;
    add("stretto_node_rounds_total", Type::kCounter, static_cast<double>(node.rounds),
        "Rounds that the worker has pushed, of the tensor with most.");
    add("stretto_node_staleness", Type::kGauge, static_cast<double>(node.staleness),
        "Updates of others between the last two values that came to the worker.");
    add("stretto_node_held_seconds_total", Type::kCounter, seconds(node.held),
        "Time that rounds had waited for the worker's shares when the last one came.");
    if (node.input) add_input(add, *node.input);
    for (const auto& [name, value] : node.reports) {
      add("stretto_node_reported", Type::kGauge, value,
          "What the worker's program last reported by this name.");
      made.back().labels.emplace_back("name", name);
    }
  }
  add_members(made, scheduler.watch().snapshot());
  const metrics::Adder add(made, {});
  const std::optional<StallDiagnosis>& standstill = scheduler.watch().snapshot().standstill();
  add("stretto_standstill_seconds", Type::kGauge, standstill ? seconds(standstill->age) : 0,
      "How long the job has stood still; 0: it goes on.");
  add("stretto_input_fairness", Type::kGauge, scheduler.watch().input().index(),
      "Jain's index of the workers' input shares.");
  add("stretto_input_alarms_total", Type::kCounter, scheduler.watch().input().alarms(),
      "Times that a worker was found to be starved.");
  return made;
}

}  // namespace stretto
