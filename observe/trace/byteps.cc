// SPDX-License-Identifier: Apache-2.0
// Joins a part's records by round, and writes the file that BytePS would.
#include "observe/trace/byteps.h"

#include <errno.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/log.h"
#include "observe/trace/recorder.h"

namespace stretto::trace {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostKept = std::size_t{1} << 20;

struct BytepsPart {
  std::int64_t queued = 0;
  std::int64_t sent = 0;
  std::int64_t came = 0;
};

Json event(const std::string& tensor, const std::string& stage, const Json& row,
           std::int64_t begin_ns, std::int64_t end_ns) {
  const std::string whole = "Comm.byteps." + tensor;
  return {{"ph", "X"},
          {"cat", "Comm"},
          {"name", stage.empty() ? whole : whole + "." + stage},
          {"pid", whole},
          {"tid", row},
          {"args", {{"name", whole}}},
          {"ts", begin_ns / 1000},
          {"dur", (end_ns - begin_ns) / 1000}};
}

std::map<FlowKey, BytepsPart> parts_of(const Trace& trace) {
  std::map<FlowKey, BytepsPart> parts;
  for (const Node& node : trace.nodes) {
    if (node.role != Role::kWorker) continue;
    for (const TraceRecord& record : node.records) {
      const bool push = record.frame == kPushFrame;
      const bool value = record.frame == kValueFrame && record.kind == TraceKind::kReceive;
      if (!push && !value) continue;
      BytepsPart& part = parts[flow_of(node, record)];
      if (value) part.came = record.end_ns;
      if (record.kind == TraceKind::kQueueWait) part.queued = record.begin_ns;
      if (record.kind == TraceKind::kSend) part.sent = record.end_ns;
    }
  }
  return parts;
}

class BytepsSink final : public Sink {
 public:
  BytepsSink(std::string path, std::ofstream file, std::uint32_t local_rank, Steps steps)
      : path_(std::move(path)), file_(std::move(file)), local_rank_(local_rank), steps_(steps) {
    trace_.nodes.emplace_back();
  }

  void take(std::span<const TraceNote> notes) override {
    std::vector<TraceRecord>& kept = trace_.nodes.front().records;
    for (const TraceNote& note : notes) {
      if (note.span.round < steps_.first || note.span.round > steps_.last) continue;
      if (kept.size() >= kMostKept) {
        ++dropped_;
      } else {
        unfold(note, [&kept](const TraceRecord& span) { kept.push_back(span); });
      }
    }
  }
  void end(std::uint64_t dropped, const std::map<std::uint32_t, std::string>& names) override {
    trace_.tensors = names;
    if (!(file_ << byteps_json(trace_) << '\n').flush()) {
      log(Level::kWarning,
          "the trace {} is not written in full: {}; make room there, or name another folder "
          "(BYTEPS_TRACE_DIR)",
          path_, std::strerror(errno));
    }
    file_.close();
    if (dropped + dropped_ > 0) {
      log(Level::kWarning, "{} lacks {} records, for which there was no room", path_,
          dropped + dropped_);
    }
    // The words that BytePS's users wait for.
    std::printf("Local rank %u: communication traces output done!\n", local_rank_);
    std::fflush(stdout);
  }

 private:
  std::string path_;
  std::ofstream file_;
  std::uint32_t local_rank_;
  Steps steps_;
  Trace trace_;
  std::uint64_t dropped_ = 0;
};

}  // namespace

std::string byteps_json(const Trace& trace) {
  Json events = Json::array();
  std::map<std::pair<std::uint32_t, std::uint64_t>, BytepsPart> whole;  // By tensor and round.
  for (const auto& [key, part] : parts_of(trace)) {
    if (part.queued == 0 || part.sent == 0) continue;  // It began before the trace, or is not over.
    const std::string tensor = trace.tensor_name(key.tensor);
    const std::string row = std::to_string((std::uint64_t{key.tensor} << 32) | key.part);
    events.push_back(event(tensor, "PUSH", row, part.queued, part.sent));
    const std::int64_t end = std::max(part.came, part.sent);
    if (part.came > part.sent) events.push_back(event(tensor, "PULL", row, part.sent, part.came));
    BytepsPart& all = whole.try_emplace({key.tensor, key.round}, part).first->second;
    all.queued = std::min(all.queued, part.queued);
    all.came = std::max(all.came, end);
  }
  for (const auto& [key, all] : whole) {
    events.push_back(event(trace.tensor_name(key.first), "", "total", all.queued, all.came));
  }
  const Json file = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  return file.dump(1, ' ', false, Json::error_handler_t::replace);
}

Result<std::unique_ptr<Sink>> byteps_sink(const std::string& folder, std::uint32_t local_rank,
                                          Steps steps) {
  std::error_code ignored;  // The file cannot be opened then, and that is said.
  const auto inner = std::filesystem::path(folder) / std::to_string(local_rank);
  std::filesystem::create_directories(inner, ignored);
  const std::string path = (inner / "comm.json").string();
  std::ofstream file(path, std::ios::trunc);
  if (!file) {
    return Status(Code::kInvalidArgument,
                  fmt::format("the trace {} cannot be written: {}; is BYTEPS_TRACE_DIR a folder "
                              "that may be written to?",
                              path, std::strerror(errno)));
  }
  return std::unique_ptr<Sink>(
      std::make_unique<BytepsSink>(path, std::move(file), local_rank, steps));
}

}  // namespace stretto::trace
