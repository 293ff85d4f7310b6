// SPDX-License-Identifier: Apache-2.0
// A single answer for each request; long lists come in pages.
#include "scheduler/observers/observers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace stretto {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kNamesAPage = 100;

std::string names_from(const TensorRegistry& registry, std::uint32_t first) {
  Json names = Json::array();
  for (const auto& [id, name] : registry.names(first, kNamesAPage)) names.push_back({id, name});
  return names.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string records_from(const trace::Trace& trace, std::size_t index, std::uint64_t offset) {
  if (index >= trace.nodes.size()) return {};
  const std::vector<TraceRecord>& records = trace.nodes[index].records;
  if (offset >= records.size()) return {};
  const std::size_t count =
      std::min<std::size_t>(control::TraceChunk::kMostNotes, records.size() - offset);
  std::string bytes(count * sizeof(TraceRecord), '\0');
  std::memcpy(bytes.data(), records.data() + offset, bytes.size());
  return bytes;
}

control::Message stack_of(Rank rank, const Observers::Sights& sights, Time now) {
  const auto is_it = [rank](const Member& member) {
    return member.role == Role::kWorker && member.number() == rank && !member.left;
  };
  const auto found = std::ranges::find_if(sights.members, is_it);
  if (found == sights.members.end()) {
    return control::Fault{
        .why = {Code::kInvalidArgument, fmt::format("there is no worker {} in this job", rank)}};
  }
  const Result<std::string> stack = sights.stacks.ask(found->node, now);
  if (!stack.ok()) {
    return control::Fault{.why = Status(stack.status()).with_peer(found->describe())};
  }
  return control::Observed{.what = control::Observe::What::kStack, .text = *stack};
}

}  // namespace

Status Observers::add(LinkId link) {
  if (links_.size() >= kMost) {
    return {Code::kResource, "too many tools look at this job already; end one of them"};
  }
  links_[link] = true;
  return {};
}

control::Message Observers::answer(const control::Observe& question, const Sights& sights,
                                   Time now) {
  using What = control::Observe::What;
  control::Observed observed{.what = question.what};
  switch (question.what) {
    case What::kSnapshot:
      observed.text = sights.snapshot.json(sights.phase, question.first, now);
      return observed;
    case What::kStart: {
      const Status status =
          sights.trace.start(sights.members, question.iterations, question.seconds, now);
      if (!status.ok()) return control::Fault{.why = status};
      observed.text = sights.trace.json(0);
      return observed;
    }
    case What::kState:
      observed.text = sights.trace.json(question.first);
      return observed;
    case What::kRecords:
      observed.records = records_from(sights.trace.trace(), question.first, question.offset);
      return observed;
    case What::kNames:
      observed.text = names_from(sights.registry, question.first);
      return observed;
    case What::kStack:
      return stack_of(question.first, sights, now);
    case What::kNothing:
      break;
  }
  return control::Fault{
      .why = {Code::kInvalidArgument, "this scheduler does not know that question"}};
}

}  // namespace stretto
