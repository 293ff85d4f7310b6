// SPDX-License-Identifier: Apache-2.0
// Derives the times for a TAC order from waits and transfers.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "observe/trace/report.h"

namespace stretto::trace {
namespace {

using Json = nlohmann::json;

struct Use {
  std::uint64_t waits = 0;
  std::size_t first = 0;  // Index of its first wait among all waits.
  std::vector<std::int64_t> gaps;
};

// The tensors that the first worker waited for, and the computation time until its next wait.
std::map<std::uint32_t, Use> uses_of(const Trace& trace) {
  std::map<std::uint32_t, Use> uses;
  for (const Node& node : trace.nodes) {
    std::vector<TraceRecord> waits;
    for (const TraceRecord& record : node.records) {
      if (record.kind == TraceKind::kPullWait) waits.push_back(record);
    }
    std::sort(waits.begin(), waits.end(),
              [](const TraceRecord& a, const TraceRecord& b) { return a.begin_ns < b.begin_ns; });
    for (std::size_t i = 0; i < waits.size(); ++i) {
      Use& use = uses[waits[i].tensor];
      if (use.waits++ == 0) use.first = i;
      if (i + 1 < waits.size()) {
        use.gaps.push_back(std::max<std::int64_t>(0, waits[i + 1].begin_ns - waits[i].end_ns));
      }
    }
    if (!waits.empty()) break;
  }
  return uses;
}

// The shortest push plus pull of each part, summed over a tensor's parts; and the bytes.
struct MeasuredTransfer {
  std::uint64_t bytes = 0;
  std::int64_t ns = 0;
};
std::map<std::uint32_t, MeasuredTransfer> transfers_of(const Trace& trace) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, MeasuredTransfer> parts;
  const Flows flows = flows_of(trace);
  for (const auto& [key, flow] : flows.all) {
    if (!flow.sent || !flow.arrived || !flow.answered || !flow.came) continue;
    const std::int64_t time = std::max<std::int64_t>(0, *flow.arrived - *flow.sent) +
                              std::max<std::int64_t>(0, *flow.came - *flow.answered);
    auto [part, is_new] =
        parts.try_emplace({key.tensor, key.part}, MeasuredTransfer{flow.bytes, time});
    if (!is_new) part->second.ns = std::min(part->second.ns, time);
  }
  std::map<std::uint32_t, MeasuredTransfer> tensors;
  for (const auto& [key, part] : parts) {
    tensors[key.first].bytes += part.bytes;
    tensors[key.first].ns += part.ns;
  }
  return tensors;
}

}  // namespace

std::vector<Measured> measured_of(const Trace& trace) {
  std::map<std::uint32_t, Use> uses = uses_of(trace);
  std::vector<std::pair<std::size_t, Measured>> found;
  for (const auto& [tensor, transfer] : transfers_of(trace)) {
    Measured measured{.tensor = trace.tensor_name(tensor),
                      .bytes = transfer.bytes,
                      .transfer_ns = transfer.ns,
                      .compute_ns = 0,
                      .least_compute_ns = 0};
    std::size_t first = kMostTensors;
    if (const auto use = uses.find(tensor); use != uses.end()) {
      first = use->second.first;
      std::vector<std::int64_t>& gaps = use->second.gaps;
      std::sort(gaps.begin(), gaps.end());
      if (!gaps.empty()) {
        measured.compute_ns = gaps[gaps.size() / 2];
        measured.least_compute_ns = gaps.front();
      }
    }
    found.emplace_back(first, std::move(measured));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Measured> measured;
  for (auto& [first, one] : found) measured.push_back(std::move(one));
  return measured;
}

std::string measured_json(const std::vector<Measured>& measured) {
  constexpr double kSecond = 1e9;
  Json transfers = Json::array();
  for (const Measured& one : measured) {
    transfers.push_back({{"name", one.tensor},
                         {"bytes", one.bytes},
                         {"transfer_s", static_cast<double>(one.transfer_ns) / kSecond},
                         {"compute_s", static_cast<double>(one.compute_ns) / kSecond},
                         {"least_compute_s", static_cast<double>(one.least_compute_ns) / kSecond}});
  }
  const Json all = {{"transfers", std::move(transfers)}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stretto::trace
