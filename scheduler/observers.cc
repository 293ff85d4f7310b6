// SPDX-License-Identifier: Apache-2.0
// One answer for one question; long lists come in pages.
#include "scheduler/observers.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "van/trace_agent.h"

namespace stretto {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kNamesAPage = 100;

std::string names_from(const Registry& registry, std::uint32_t first) {
  Json names = Json::array();
  for (const auto& [id, name] : registry.names(first, kNamesAPage)) names.push_back({id, name});
  return names.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string records_from(const trace::Trace& trace, std::size_t index, std::uint64_t offset) {
  if (index >= trace.nodes.size()) return {};
  const std::vector<TraceRecord>& records = trace.nodes[index].records;
  if (offset >= records.size()) return {};
  const std::size_t count = std::min<std::size_t>(TraceAgent::kChunkNotes, records.size() - offset);
  std::string bytes(count * sizeof(TraceRecord), '\0');
  std::memcpy(bytes.data(), records.data() + offset, bytes.size());
  return bytes;
}

}  // namespace

Status Observers::add(LinkId link) {
  if (links_.size() >= kMost) {
    return {Code::kResource, "too many tools look at this job already; end one of them"};
  }
  links_[link] = true;
  return {};
}

wire::Control Observers::answer(const wire::Observe& question, const Sights& sights, Time now) {
  wire::Control message;
  wire::Observed& observed = *message.mutable_observed();
  observed.set_what(static_cast<std::uint32_t>(question.what()));
  switch (question.what()) {
    case wire::Observe::PICTURE:
      observed.set_text(sights.picture.json(sights.phase, question.first(), now));
      return message;
    case wire::Observe::START: {
      const Status status =
          sights.trace.start(sights.members, question.iterations(), question.seconds(), now);
      if (!status.ok()) return fault_message(status);
      observed.set_text(sights.trace.json(0));
      return message;
    }
    case wire::Observe::STATE:
      observed.set_text(sights.trace.json(question.first()));
      return message;
    case wire::Observe::RECORDS:
      observed.set_records(records_from(sights.trace.trace(), question.first(), question.offset()));
      return message;
    case wire::Observe::NAMES:
      observed.set_text(names_from(sights.registry, question.first()));
      return message;
    default:
      return fault_message({Code::kInvalidArgument, "this scheduler does not know that question"});
  }
}

}  // namespace stretto
