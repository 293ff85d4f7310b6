// SPDX-License-Identifier: Apache-2.0
// Any bytes as a control message, and all that is read out of it: accepted rosters and tensors keep
// what messages.h promises, and say the same after a way over the wire.
// Input: 0 and the message's own bytes, or 1 and a program that makes a message (messages.h).
#include <set>

#include "common/check.h"
#include "tests/fuzz/messages.h"

namespace stretto {
namespace {

std::string bytes_of_message(const google::protobuf::MessageLite& message) {
  return message.SerializeAsString();
}

void check_roster(const wire::Roster& message) {
  const Result<Roster> roster = from_wire(message);
  if (!roster.ok()) return;
  const JobSettings& settings = roster->settings;
  STRETTO_CHECK(roster->slots > 0 && roster->members.size() <= kMaxNodes);
  STRETTO_CHECK(settings.part_bytes >= 64 && settings.part_bytes <= wire::kMaxPartBytes);
  STRETTO_CHECK(settings.link_window_bytes > 0 && settings.total_window_bytes > 0);
  STRETTO_CHECK(settings.heartbeat > 0ns && settings.dead_after > 0ns);
  STRETTO_CHECK(settings.stall_warn > 0ns && settings.stall_error > 0ns);
  std::set<NodeId> nodes;
  std::set<Rank> ranks;
  for (const Member& member : roster->members) {
    STRETTO_CHECK(member.node > 1 && nodes.insert(member.node).second);
    STRETTO_CHECK(roster->find(member.node) == &member);
    STRETTO_CHECK(!member.describe().empty());
    if (member.role == Role::kServer) continue;
    STRETTO_CHECK(member.role == Role::kWorker);
    STRETTO_CHECK(member.rank < roster->workers && ranks.insert(member.rank).second);
  }
  STRETTO_CHECK(roster->find(0) == nullptr);
  const wire::Control again = to_wire(*roster);
  const Result<Roster> twice = from_wire(again.roster());
  STRETTO_CHECK(twice.ok());
  STRETTO_CHECK(bytes_of_message(to_wire(*twice)) == bytes_of_message(again));
}

void check_cut(const TensorSpec& spec, std::uint32_t part_bytes) {
  const Cut cut(spec, part_bytes);
  if (spec.elements / cut.part_elements >= 0xFFFFFFFF) return;  // The scheduler refuses these.
  const std::uint32_t parts = cut.parts();
  if (parts == 0) {
    STRETTO_CHECK(spec.elements == 0);
    return;
  }
  for (const std::uint32_t part : {std::uint32_t{0}, parts / 2, parts - 1}) {
    STRETTO_CHECK(cut.bytes_of_part(part) > 0 && cut.bytes_of_part(part) <= part_bytes);
    STRETTO_CHECK(cut.bytes_of_part(part) % bytes_of(spec.dtype) == 0);
  }
  STRETTO_CHECK(cut.offset_of(parts - 1) + cut.bytes_of_part(parts - 1) == spec.bytes());
}

void check_spec(const wire::TensorSpec& message) {
  const Result<TensorSpec> spec = from_wire(message);
  if (!spec.ok()) return;
  STRETTO_CHECK(check(*spec).ok());
  STRETTO_CHECK(!spec->name.empty() && spec->name.size() <= kMaxNameBytes);
  STRETTO_CHECK(bytes_of(spec->dtype) != 0 && spec->bytes() <= kMaxTensorBytes);
  STRETTO_CHECK(!spec->describe().empty());
  const wire::TensorSpec again = to_wire(*spec);
  const Result<TensorSpec> twice = from_wire(again);
  STRETTO_CHECK(twice.ok());
  STRETTO_CHECK(bytes_of_message(to_wire(*twice)) == bytes_of_message(again));
  for (const std::uint32_t part_bytes : {64U, 256U * 1024U}) check_cut(*spec, part_bytes);
}

void check_status(const Status& status) {
  STRETTO_CHECK(!status.ok() && status.code() <= Code::kInterrupted);
  STRETTO_CHECK(!status.text().empty());
  wire::Control again = fault_message(status);
  STRETTO_CHECK(status_of(again.fault()) == status);
}

void check_message(const wire::Control& message) {
  if (message.has_roster()) check_roster(message.roster());
  if (message.has_declare()) check_spec(message.declare().spec());
  if (message.has_open()) check_spec(message.open().spec());
  if (message.has_fault()) check_status(status_of(message.fault()));
  if (message.has_failure()) check_status(status_of(message.failure()));
}

void run(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const Buffer payload = input.flag() ? serialize(fuzz::control_from(input)) : input.rest();
  wire::Control message;
  if (Status status = parse(payload, message); !status.ok()) {
    STRETTO_CHECK(status.code() == Code::kMalformed);
    return;
  }
  STRETTO_CHECK(message.body_case() != wire::Control::BODY_NOT_SET);
  check_message(message);
  wire::Control again;
  STRETTO_CHECK(parse(serialize(message), again).ok());
  STRETTO_CHECK(again.body_case() == message.body_case());
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::run(data, size);
  return 0;
}
