// SPDX-License-Identifier: Apache-2.0
// Snapshots under a common lock; long texts are made outside it.
#include "scheduler/dashboard/page_snapshots.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "observe/trace/clocks.h"
#include "observe/trace/report.h"

namespace stretto {
namespace {

using Json = nlohmann::json;

bool is_shown(TraceKind kind) {
  return kind != TraceKind::kExchange && kind != TraceKind::kResume && kind != TraceKind::kTraced;
}

// The last record of a worker: servers record until they are told to stop.
std::int64_t end_of(const trace::Trace& trace) {
  std::int64_t end = 0;
  bool any = false;
  for (const trace::Node& node : trace.nodes) {
    if (node.role != Role::kWorker) continue;
    for (const TraceRecord& record : node.records) {
      end = any ? std::max(end, record.end_ns) : record.end_ns;
      any = true;
    }
  }
  return any ? end : std::int64_t{1} << 62;
}

// The time after which at most kMostSpans spans begin.
std::int64_t begin_of(const trace::Trace& trace, std::int64_t end) {
  std::vector<std::int64_t> begins;
  for (const trace::Node& node : trace.nodes) {
    for (const TraceRecord& record : node.records) {
      if (is_shown(record.kind) && record.begin_ns < end) begins.push_back(record.begin_ns);
    }
  }
  if (begins.empty()) return 0;
  const std::size_t left_out = begins.size() - std::min(begins.size(), PageSnapshots::kMostSpans);
  const auto at = begins.begin() + static_cast<std::ptrdiff_t>(left_out);
  std::nth_element(begins.begin(), at, begins.end());
  return *at;
}

}  // namespace

std::string timeline_json(const trace::Trace& trace) {
  trace::Trace aligned = trace;
  trace::align(aligned, trace::clocks_of(aligned));
  const std::int64_t end = end_of(aligned);
  const std::int64_t begin = begin_of(aligned, end);
  Json nodes = Json::array();
  for (const trace::Node& node : aligned.nodes) {
    Json spans = Json::array();
    for (const TraceRecord& record : node.records) {
      if (!is_shown(record.kind) || record.begin_ns < begin || record.begin_ns >= end) continue;
      spans.push_back({std::string(name_of(record.kind)), (record.begin_ns - begin) / 1000,
                       (record.end_ns - record.begin_ns) / 1000,
                       record.tensor == 0 ? "" : aligned.tensor_name(record.tensor), record.round});
    }
    nodes.push_back({{"name", node.name()},
                     {"role", std::string(name_of(node.role))},
                     {"spans", std::move(spans)}});
  }
  const Json report = Json::parse(trace::report_json(aligned, trace::analyse(aligned)));
  const Json all = {{"report", report}, {"nodes", std::move(nodes)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void PageSnapshots::show(std::vector<std::string> snapshots, std::string trace_state,
                         std::string history) {
  MutexLock lock(mutex_);
  snapshots_ = std::move(snapshots);
  trace_state_ = std::move(trace_state);
  history_ = std::move(history);
}

void PageSnapshots::show_trace(std::shared_ptr<const trace::Trace> trace) {
  MutexLock lock(mutex_);
  trace_ = std::move(trace);
  ++traces_;
}

std::optional<PageSnapshots::TraceWish> PageSnapshots::take_wish() {
  MutexLock lock(mutex_);
  return std::exchange(wish_, std::nullopt);
}

std::string PageSnapshots::snapshot(std::size_t page) {
  MutexLock lock(mutex_);
  if (snapshots_.empty()) return "{}";
  return snapshots_[page < snapshots_.size() ? page : 0];
}

std::string PageSnapshots::trace_state() {
  MutexLock lock(mutex_);
  return trace_state_;
}

std::string PageSnapshots::history() {
  MutexLock lock(mutex_);
  return history_;
}

std::pair<std::shared_ptr<const trace::Trace>, std::uint64_t> PageSnapshots::take_trace() {
  MutexLock lock(mutex_);
  return {std::exchange(trace_, nullptr), traces_};
}

std::string PageSnapshots::keep(std::uint64_t number, std::string text) {
  MutexLock lock(mutex_);
  if (number > told_) {
    told_ = number;
    trace_text_ = std::move(text);
  }
  return trace_text_;
}

std::string PageSnapshots::trace() {
  const auto [fresh, number] = take_trace();
  return fresh == nullptr ? keep(0, "") : keep(number, timeline_json(*fresh));
}

void PageSnapshots::wish(const TraceWish& wish) {
  MutexLock lock(mutex_);
  wish_ = wish;
}

}  // namespace stretto
