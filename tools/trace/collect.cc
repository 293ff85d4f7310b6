// SPDX-License-Identifier: Apache-2.0
// Answers of a scheduler are checked like those of any peer.
#include "tools/trace/collect.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/check.h"

namespace stretto::observe {
namespace {

using Json = nlohmann::json;

constexpr Duration kBetweenLooks = 100ms;
constexpr std::uint32_t kGatherSeconds = 60;

Status malformed(std::string_view what) {
  return {Code::kMalformed, fmt::format("the scheduler's {} makes no sense", what)};
}

Result<Json> parsed(Result<Observation> answer, std::string_view what) {
  if (!answer.ok()) return answer.status();
  Json json = Json::parse(answer->text, nullptr, false);
  if (json.is_discarded()) return malformed(what);
  return json;
}

std::uint64_t count_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::string text_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// State of our trace. The scheduler keeps only one: another user's trace replaces it.
Result<Json> state_of(ObserverClient& observer, std::uint32_t first, std::uint64_t number) {
  Result<Json> state = parsed(observer.trace_state(first), "state of the trace");
  if (state.ok() && count_in(*state, "number") != number) {
    return Status(Code::kResource,
                  fmt::format("trace {} was begun by somebody else before ours, {}, was fetched; "
                              "trace again",
                              count_in(*state, "number"), number));
  }
  return state;
}

// A job that is still forming cannot be traced.
Status wait_until_begun(ObserverClient& observer, std::uint32_t seconds,
                        const std::function<void(const std::string&)>& say) {
  for (Duration waited{};; waited += kBetweenLooks) {
    Result<Json> snapshot = parsed(observer.snapshot(0), "snapshot of the job");
    if (!snapshot.ok()) return snapshot.status();
    if (text_in(*snapshot, "phase") != "gathering") return {};
    if (waited >= std::chrono::seconds(seconds)) {
      return {Code::kRendezvousTimeout,
              fmt::format("the job still gathers its nodes after {} s, so that there is nobody to "
                          "trace; the scheduler says when all are here",
                          seconds)};
    }
    if (waited == Duration::zero()) say("the job still gathers its nodes; the trace waits for it");
    if (Status status = observer.rest(kBetweenLooks); !status.ok()) return status;
  }
}

Status wait_until_done(ObserverClient& observer, std::uint64_t number,
                       const std::function<void(const std::string&)>& say) {
  std::uint64_t said = 0;
  for (;;) {
    if (Status status = observer.rest(kBetweenLooks); !status.ok()) return status;
    Result<Json> state = state_of(observer, 0, number);
    if (!state.ok()) return state.status();
    if (const std::uint64_t records = count_in(*state, "records"); records >= said + 50'000) {
      said = records;
      say(fmt::format("{} records so far", records));
    }
    if (text_in(*state, "state") != "done") continue;
    if (const std::string remark = text_in(*state, "remark"); !remark.empty()) say(remark);
    return {};
  }
}

Status fetch_nodes(ObserverClient& observer, std::uint64_t number, trace::Trace& trace,
                   std::vector<std::uint64_t>& counts) {
  for (std::uint64_t count = 1; trace.nodes.size() < count;) {
    const auto first = static_cast<std::uint32_t>(trace.nodes.size());
    Result<Json> page = state_of(observer, first, number);
    if (!page.ok()) return page.status();
    count = count_in(*page, "count");
    const auto nodes = page->find("nodes");
    if (count > trace::kMostNodes || nodes == page->end() || !nodes->is_array() ||
        (nodes->empty() && first < count)) {
      return malformed("list of nodes");
    }
    for (const Json& node : *nodes) {
      trace.nodes.push_back(
          {.node = static_cast<std::uint32_t>(count_in(node, "node")),
           .role = text_in(node, "role") == "worker" ? Role::kWorker : Role::kServer,
           .rank = static_cast<std::uint32_t>(count_in(node, "rank")),
           .shard = static_cast<std::uint32_t>(count_in(node, "shard")),
           .job = 0,
           .dropped = count_in(node, "dropped"),
           .records = {}});
      counts.push_back(count_in(node, "records"));
    }
  }
  return {};
}

Status fetch_records(ObserverClient& observer, std::uint32_t index, std::uint64_t count,
                     trace::Node& node) {
  while (node.records.size() < count) {
    Result<Observation> answer = observer.trace_records(index, node.records.size());
    if (!answer.ok()) return answer.status();
    const std::size_t came = answer->records.size() / sizeof(TraceRecord);
    if (came == 0 || node.records.size() > trace::kMostRecords) return malformed("list of records");
    for (std::size_t i = 0; i < came; ++i) {
      TraceRecord record;
      std::memcpy(&record, answer->records.data() + i * sizeof record, sizeof record);
      if (!trace::sensible(record)) return malformed("list of records");
      node.records.push_back(record);
    }
  }
  return {};
}

Status fetch_names(ObserverClient& observer, trace::Trace& trace) {
  for (std::uint32_t first = 0; trace.tensors.size() < trace::kMostTensors;) {
    Result<Json> names = parsed(observer.tensor_names(first), "list of tensors");
    if (!names.ok()) return names.status();
    if (!names->is_array()) return malformed("list of tensors");
    if (names->empty()) return {};
    for (const Json& name : *names) {
      const bool whole = name.is_array() && name.size() == 2 && name[0].is_number_unsigned() &&
                         name[0].get<std::uint64_t>() < UINT32_MAX && name[1].is_string();
      if (!whole || name[0].get<std::uint32_t>() < first) return malformed("list of tensors");
      first = name[0].get<std::uint32_t>() + 1;
      trace.tensors[first - 1] = name[1].get<std::string>();
    }
  }
  return {};
}

}  // namespace

Result<trace::Trace> collect(ObserverClient& observer, const TraceExtent& extent,
                             const std::function<void(const std::string&)>& say) {
  const std::uint32_t patience =
      extent.iterations == 0 ? std::max(extent.seconds, kGatherSeconds) : extent.seconds;
  if (Status status = wait_until_begun(observer, patience, say); !status.ok()) return status;
  Result<Json> started =
      parsed(observer.start_trace(extent.iterations, extent.seconds), "state of the trace");
  if (!started.ok()) return started.status();
  const std::uint64_t number = count_in(*started, "number");
  if (Status status = wait_until_done(observer, number, say); !status.ok()) return status;
  trace::Trace trace;
  std::vector<std::uint64_t> counts;
  if (Status status = fetch_nodes(observer, number, trace, counts); !status.ok()) return status;
  STRETTO_CHECK(counts.size() == trace.nodes.size());
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i) {
    if (Status status = fetch_records(observer, i, counts[i], trace.nodes[i]); !status.ok()) {
      return status;
    }
  }
  if (Status status = fetch_names(observer, trace); !status.ok()) return status;
  Result<Json> still = state_of(observer, 0, number);  // All that was fetched is of our trace.
  return still.ok() ? Result<trace::Trace>(std::move(trace)) : still.status();
}

}  // namespace stretto::observe
