// SPDX-License-Identifier: Apache-2.0
// Reads a trace from JSON, event by event, so that a large file needs memory only for its records.
// The file is untrusted.
#include <fmt/core.h>

#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "observe/trace/chrome.h"

namespace stretto::trace {
namespace {

using Json = nlohmann::json;

// A number of an object, within the bounds of T; none if it is missing or not such a number.
template <typename T>
std::optional<T> number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  if (!(value >= static_cast<double>(std::numeric_limits<T>::lowest())) ||
      !(value <= static_cast<double>(std::numeric_limits<T>::max()))) {
    return std::nullopt;
  }
  return found->get<T>();
}

std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Collects events into a trace.
class ChromeReader {
 public:
  Status take(const Json& event) {
    const std::string phase = text(event, "ph");
    if (phase == "M") return take_metadata(event);
    if (phase == "X") return take_span(event);
    return {};
  }
  Result<Trace> finish() {
    for (auto& [pid, node] : nodes_) {
      if (!node.second) return Status(Code::kMalformed, "spans of a process that has no name");
      trace_.nodes.push_back(std::move(node.first));
    }
    if (trace_.nodes.empty()) return Status(Code::kMalformed, "it names no node of a job");
    return std::move(trace_);
  }

 private:
  Status take_metadata(const Json& event) {
    const auto args = event.find("args");
    if (args == event.end() || !args->is_object()) return {};
    const std::string name = text(event, "name");
    if (name == "stretto_tensor") {
      const auto tensor = number<std::uint32_t>(*args, "tensor");
      if (!tensor || trace_.tensors.size() >= kMostTensors) return malformed("a tensor's name");
      trace_.tensors[*tensor] = text(*args, "name");
    } else if (name == "process_name" && args->contains("role")) {
      const auto pid = number<std::uint32_t>(event, "pid");
      const auto rank = number<std::uint32_t>(*args, "rank");
      const auto shard = number<std::uint32_t>(*args, "shard");
      const auto dropped = number<std::uint64_t>(*args, "dropped");
      const std::string role = text(*args, "role");
      if (!pid || !rank || !shard || !dropped || (role != "worker" && role != "server")) {
        return malformed("a process's name");
      }
      auto& [node, named] = nodes_[*pid];
      named = true;
      node.node = *pid;
      node.role = role == "worker" ? Role::kWorker : Role::kServer;
      node.rank = *rank;
      node.shard = *shard;
      node.dropped = *dropped;
    }
    return nodes_.size() > kMostNodes ? malformed("too many processes") : Status();
  }

  Status take_span(const Json& event) {
    const auto args = event.find("args");
    const auto pid = number<std::uint32_t>(event, "pid");
    const auto begin = number<double>(event, "ts");
    const auto length = number<double>(event, "dur");
    TraceRecord record;
    record.kind = trace_kind_from(text(event, "cat"));
    if (args == event.end() || !args->is_object() || !pid || !begin || !length ||
        !(std::abs(*begin) < 1e15) || !(*length >= 0 && *length < 1e12)) {
      return malformed("a span");
    }
    record.begin_ns = std::llround(*begin * 1000);
    record.end_ns = record.begin_ns + std::llround(*length * 1000);
    const auto take = [&args]<typename T>(const char* key, T& into) {
      const auto value = number<T>(*args, key);
      if (value) into = *value;
      return value.has_value();
    };
    const bool whole = take("tensor", record.tensor) && take("part", record.part) &&
                       take("round", record.round) && take("bytes", record.bytes) &&
                       take("peer", record.peer) && take("priority", record.priority) &&
                       take("frame", record.frame);
    if (!whole || !sensible(record)) return malformed("a span");
    if (++records_ > kMostRecords) return malformed("too many spans");
    nodes_[*pid].first.records.push_back(record);
    return nodes_.size() > kMostNodes ? malformed("too many processes") : Status();
  }

  static Status malformed(std::string_view what) {
    return {Code::kMalformed, fmt::format("{} that this program would not write", what)};
  }

  Trace trace_;
  std::map<std::uint32_t, std::pair<Node, bool>> nodes_;  // By pid; true: the node has a name.
  std::size_t records_ = 0;
};

}  // namespace

Result<Trace> read_chrome(const std::string& path) {
  const auto wrong = [&path](std::string_view what) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{} cannot be analysed: {}; wanted a file that stretto-trace wrote",
                              path, what));
  };
  std::error_code ignored;  // Reading reports the error.
  if (std::filesystem::is_directory(path, ignored)) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("{} is a folder; join what STRETTO_TRACE left there by `stretto-trace "
                    "merge {} --out FILE`, and analyse that file",
                    path, path));
  }
  std::ifstream in(path);
  if (!in) return wrong("it cannot be read");
  ChromeReader reader;
  Status status;
  constexpr int kEventDepth = 2;  // Depth of objects in the array of the outermost object.
  constexpr int kMostDepth = 8;
  const auto take = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMostDepth && status.ok()) status = {Code::kMalformed, "it is nested too deeply"};
    if (event != Json::parse_event_t::object_end || depth != kEventDepth) return true;
    if (status.ok()) status = reader.take(parsed);
    return false;  // The parser drops the event.
  };
  try {
    if (Json::parse(in, take, false).is_discarded()) return wrong("it is no JSON");
  } catch (const std::exception& error) {  // From the parser, if a read fails.
    return wrong(error.what());
  }
  if (!status.ok()) return wrong(status.cause());
  Result<Trace> trace = reader.finish();
  return trace.ok() ? std::move(trace) : Result<Trace>(wrong(trace.status().cause()));
}

}  // namespace stretto::trace
