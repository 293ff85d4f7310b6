// SPDX-License-Identifier: Apache-2.0
// The phases of a trace: started on all nodes, fetched in turns while it runs, stopped, fetched to
// its end.
#include "scheduler/monitoring/trace_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace stretto {
namespace {

using Json = nlohmann::json;

constexpr Duration kFetchEvery = 50ms;  // While there are few records.
constexpr Duration kPatience = 5s;      // Timeout of a node's answer.
constexpr std::size_t kNodesATracePage = 1000;

using Action = control::TraceCommand::Action;

}  // namespace

std::string_view name_of(TraceSession::State state) {
  constexpr std::string_view kNames[] = {"none", "running", "draining", "done"};
  return kNames[static_cast<std::size_t>(state)];
}

Status TraceSession::start(const std::vector<Member>& members, std::uint32_t iterations,
                           std::uint32_t seconds, Time now) {
  if (active()) {
    return {Code::kResource, "a trace is being made already; wait until it is done"};
  }
  if (seconds == 0 || seconds > kMostSeconds) {
    return {Code::kInvalidArgument,
            fmt::format("{} s cannot be traced, wanted 1 to {} s", seconds, kMostSeconds)};
  }
  if (std::all_of(members.begin(), members.end(), [](const Member& m) { return m.left; })) {
    return {Code::kResource,
            "the job has no nodes that could be traced: it still gathers them, or they have left"};
  }
  state_ = State::kRunning;
  ++number_;
  iterations_ = iterations;
  deadline_ = now + std::chrono::seconds(seconds);
  stopping_ = false;
  sources_.clear();
  trace_ = {};
  records_ = 0;
  remark_.clear();
  for (const Member& member : members) {
    if (member.left) continue;
    Source& source = sources_[member.node];
    source.index = trace_.nodes.size();
    source.worker = member.role == Role::kWorker;
    trace_.nodes.push_back({.node = member.node,
                            .role = member.role,
                            .rank = member.number(),
                            .shard = member.shard,
                            .job = 0,
                            .dropped = 0,
                            .records = {}});
  }
  return {};
}

void TraceSession::on_chunk(NodeId id, const control::TraceChunk& chunk, Time now) {
  const auto found = sources_.find(id);
  if (found == sources_.end() || chunk.session != number_ || found->second.over) return;
  Source& source = found->second;
  trace::Node& node = trace_.nodes[source.index];
  source.asked = false;
  source.reached = source.reached || chunk.reached;
  node.dropped = chunk.dropped;
  if (chunk.refused) {
    remark_ = "nodes write their traces to files (STRETTO_TRACE or BYTEPS_TRACE_ON), and send none";
    source.over = true;
  }
  const std::size_t count = chunk.notes.size();
  for (const TraceNote& note : chunk.notes) {
    if (!trace::sensible(note)) continue;
    if (records_ >= kMostRecords) {
      ++node.dropped;
      remark_ = "the trace is full: trace fewer iterations or seconds";
      begin_draining(now);
      continue;
    }
    const std::size_t before = node.records.size();
    trace::unfold(note, [&node](const TraceRecord& span) { node.records.push_back(span); });
    records_ += node.records.size() - before;
  }
  if (state_ == State::kDraining && count == 0 && !stopping_) source.over = true;
  source.ask_next = count == control::TraceChunk::kMostNotes ? now : now + kFetchEvery;
  const bool reached = std::all_of(sources_.begin(), sources_.end(), [](const auto& item) {
    return !item.second.worker || item.second.reached || item.second.over;
  });
  if (state_ == State::kRunning && reached) begin_draining(now);
  finish_if_over();
}

void TraceSession::gone(NodeId node) {
  const auto found = sources_.find(node);
  if (found == sources_.end()) return;
  found->second.over = true;
  finish_if_over();
}

void TraceSession::begin_draining(Time now) {
  if (state_ != State::kRunning) return;
  state_ = State::kDraining;
  stopping_ = true;
  for (auto& [id, source] : sources_) source.ask_next = now;
}

void TraceSession::finish_if_over() {
  const bool over = std::all_of(sources_.begin(), sources_.end(),
                                [](const auto& item) { return item.second.over; });
  if (active() && over) state_ = State::kDone;
}

std::vector<TraceSession::Order> TraceSession::due(Time now) {
  std::vector<Order> orders;
  if (!active()) return orders;
  if (state_ == State::kRunning && now >= deadline_) {
    if (iterations_ > 0) remark_ = "the time was over before the iterations were";
    begin_draining(now);
  }
  for (auto& [id, source] : sources_) {
    if (source.over) continue;
    if (!source.told) {
      orders.push_back({id,
                        {.action = Action::kStart,
                         .session = number_,
                         .iterations = iterations_,
                         .records = kRoom}});
      source.told = true;
      source.ask_next = now + kFetchEvery;
    }
    if (stopping_) orders.push_back({id, {.action = Action::kStop, .session = number_}});
    if (!source.asked && now >= source.ask_next) {
      orders.push_back({id, {.action = Action::kSend, .session = number_}});
      source.asked = true;
      source.asked_at = now;
    } else if (source.asked && now - source.asked_at > kPatience) {
      remark_ = fmt::format("{} does not answer", trace_.nodes[source.index].name());
      source.over = true;
    }
  }
  stopping_ = false;
  finish_if_over();
  return orders;
}

std::string TraceSession::json(std::size_t first) const {
  Json nodes = Json::array();
  for (std::size_t i = first; i < trace_.nodes.size() && i < first + kNodesATracePage; ++i) {
    const trace::Node& node = trace_.nodes[i];
    nodes.push_back({{"node", node.node},
                     {"role", std::string(name_of(node.role))},
                     {"rank", node.rank},
                     {"shard", node.shard},
                     {"records", node.records.size()},
                     {"dropped", node.dropped}});
  }
  const Json all = {{"state", std::string(stretto::name_of(state_))},
                    {"number", number_},
                    {"remark", remark_},
                    {"records", records_},
                    {"count", trace_.nodes.size()},
                    {"nodes", std::move(nodes)}};
  return all.dump();
}

}  // namespace stretto
