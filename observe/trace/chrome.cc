// SPDX-License-Identifier: Apache-2.0
// Rows are packed greedily: a span goes to the first row of its group that is free again.
#include "observe/trace/chrome.h"

#include <fmt/core.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>

namespace stretto::trace {
namespace {

constexpr std::int64_t kRowsAGroup = 100;

struct SpanGroup {
  std::int64_t first_row;
  std::string_view name;
};

SpanGroup group_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::kCompute:
    case TraceKind::kInput:
    case TraceKind::kPullWait:
      return {1, "user"};
    case TraceKind::kExchange:
      return {1 + kRowsAGroup, "operations"};
    case TraceKind::kQueueWait:
      return {1 + 2 * kRowsAGroup, "send queue"};
    case TraceKind::kSend:
      return {1 + 3 * kRowsAGroup, "sending"};
    case TraceKind::kPreempt:
    case TraceKind::kResume:
      return {1 + 4 * kRowsAGroup, "preempted"};
    case TraceKind::kReceive:
      return {1 + 5 * kRowsAGroup, "receiving"};
    case TraceKind::kSum:
    case TraceKind::kUpdate:
      return {1 + 6 * kRowsAGroup, "summing"};
    case TraceKind::kStage:
    case TraceKind::kCodec:
      return {1 + 7 * kRowsAGroup, "staging"};
    case TraceKind::kStall:
    case TraceKind::kTraced:
      return {1 + 8 * kRowsAGroup, "loop"};
  }
  return {1, "user"};
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string_view frame_name(std::uint8_t frame) {
  constexpr std::string_view kNames[] = {"",     "control", "push", "pull", "value",
                                         "done", "credit",  "more", "call", "answer"};
  return frame < std::size(kNames) ? kNames[frame] : "";
}

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

// Writes events, with commas between them.
class ChromeWriter {
 public:
  ChromeWriter(std::ostream& out, const Trace& trace) : out_(out), trace_(trace) {
    for (const Node& node : trace.nodes) {
      for (const TraceRecord& record : node.records) origin_ = std::min(origin_, record.begin_ns);
    }
    out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    for (const auto& [id, name] : trace.tensors) {
      event(R"({{"ph":"M","name":"stretto_tensor","pid":0,"args":{{"tensor":{},"name":{}}}}})", id,
            quoted(name));
    }
  }
  ~ChromeWriter() { out_ << "\n]}\n"; }
  ChromeWriter(const ChromeWriter&) = delete;
  ChromeWriter& operator=(const ChromeWriter&) = delete;

  void node(const Node& node) {
    event(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"{}","role":"{}",)"
          R"("rank":{},"shard":{},"dropped":{}}}}})",
          node.node, node.name(), name_of(node.role), node.rank, node.shard, node.dropped);
    event(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})",
          node.node, (node.role == Role::kWorker ? 0 : 10'000) + node.rank);
    std::vector<const TraceRecord*> order;
    for (const TraceRecord& record : node.records) order.push_back(&record);
    std::stable_sort(order.begin(), order.end(), [](const TraceRecord* a, const TraceRecord* b) {
      return a->begin_ns < b->begin_ns;
    });
    rows_.clear();
    for (const TraceRecord* record : order) span(node, *record);
  }

 private:
  template <typename... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
    fmt::print(out_, format, std::forward<Args>(args)...);
  }

  std::int64_t row_for(const Node& node, const TraceRecord& record) {
    const SpanGroup group = group_of(record.kind);
    std::vector<std::int64_t>& busy_until = rows_[group.first_row];
    const auto free = std::find_if(busy_until.begin(), busy_until.end(),
                                   [&](std::int64_t until) { return until <= record.begin_ns; });
    auto index = free - busy_until.begin();
    if (free == busy_until.end() && index < kRowsAGroup) {
      busy_until.push_back(0);
      event(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
            node.node, group.first_row + index, group.name);
    }
    index = std::min<std::ptrdiff_t>(index, kRowsAGroup - 1);
    busy_until[static_cast<std::size_t>(index)] = record.end_ns;
    return group.first_row + index;
  }

  void span(const Node& node, const TraceRecord& record) {
    const std::int64_t row = row_for(node, record);
    const std::string name =
        record.frame == 0
            ? fmt::format("{} {}", name_of(record.kind),
                          record.tensor == 0 ? "" : trace_.tensor_name(record.tensor))
            : fmt::format("{} {} {}:{}", name_of(record.kind), frame_name(record.frame),
                          trace_.tensor_name(record.tensor), record.part);
    event(R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
          R"("args":{{"tensor":{},"part":{},"round":{},"bytes":{},"peer":{},"priority":{},)"
          R"("frame":{}}}}})",
          name_of(record.kind), quoted(name), node.node, row,
          microseconds(record.begin_ns - origin_), microseconds(record.end_ns - record.begin_ns),
          record.tensor, record.part, record.round, record.bytes, record.peer, record.priority,
          record.frame);
    flow(node, record, row);
  }

  // The arrows: they start at the sent push, continue at its sum and at the sent value, and end
  // where the value arrives.
  void flow(const Node& node, const TraceRecord& record, std::int64_t row) {
    const bool worker = node.role == Role::kWorker;
    const bool push = record.frame == kPushFrame;
    const bool value = record.frame == kValueFrame;
    char phase = 0;
    if (worker && push && record.kind == TraceKind::kSend) phase = 's';
    if (!worker && push && (record.kind == TraceKind::kSum || record.kind == TraceKind::kUpdate)) {
      phase = 't';
    }
    if (!worker && value && record.kind == TraceKind::kSend) phase = 't';
    if (worker && value && record.kind == TraceKind::kReceive) phase = 'f';
    if (phase == 0) return;
    const FlowKey key = flow_of(node, record);
    event(R"({{"ph":"{}","cat":"flow","name":"part","id":"{}.{}.{}.{}","pid":{},"tid":{},)"
          R"("ts":{:.3f}{}}})",
          phase, key.worker, key.tensor, key.part, key.round, node.node, row,
          microseconds(record.begin_ns - origin_), phase == 's' ? "" : R"(,"bp":"e")");
  }

  std::ostream& out_;
  const Trace& trace_;
  bool first_ = true;
  std::int64_t origin_ = std::numeric_limits<std::int64_t>::max();
  std::map<std::int64_t, std::vector<std::int64_t>> rows_;  // By group: end time of each row.
};

}  // namespace

void write_chrome(std::ostream& out, const Trace& trace) {
  ChromeWriter writer(out, trace);
  for (const Node& node : trace.nodes) writer.node(node);
}

}  // namespace stretto::trace
