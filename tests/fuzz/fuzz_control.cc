// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a control message, and all data decoded from it. Accepted rosters and tensors
// must satisfy control_codec.h, and be unchanged after encoding and decoding.
// Input: 0 and the message's own bytes, or 1 and a program that makes a message (messages.h).
#include <set>

#include "common/check.h"
#include "core/cut.h"
#include "tests/fuzz/messages.h"
#include "van/control/handshake.h"

namespace stretto {
namespace {

void check_roster(const Roster& roster) {
  const JobSettings& settings = roster.settings;
  STRETTO_CHECK((roster.slots > 0) == (roster.servers > 0));
  STRETTO_CHECK(roster.members.size() <= kMaxNodes);
  STRETTO_CHECK(settings.part_bytes >= 64 && settings.part_bytes <= wire::kMaxPartBytes);
  STRETTO_CHECK(settings.link_window_bytes > 0 && settings.total_window_bytes > 0);
  STRETTO_CHECK(settings.heartbeat > 0ns && settings.dead_after > 0ns);
  STRETTO_CHECK(settings.stall_error > 0ns);
  std::set<NodeId> nodes;
  std::set<Rank> ranks;
  for (const Member& member : roster.members) {
    STRETTO_CHECK(member.node > 1 && nodes.insert(member.node).second);
    STRETTO_CHECK(roster.find(member.node) == &member);
    STRETTO_CHECK(!member.describe().empty());
    if (member.role == Role::kServer) continue;
    STRETTO_CHECK(member.role == Role::kWorker);
    STRETTO_CHECK(member.rank < roster.workers && ranks.insert(member.rank).second);
  }
  STRETTO_CHECK(roster.find(0) == nullptr);
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

void check_spec(const TensorSpec& spec) {
  STRETTO_CHECK(check(spec).ok() && canonical(spec).describe() == spec.describe());
  STRETTO_CHECK(!spec.name.empty() && spec.name.size() <= kMaxNameBytes);
  STRETTO_CHECK(bytes_of(spec.dtype) != 0 && spec.bytes() <= kMaxTensorBytes);
  STRETTO_CHECK(!spec.describe().empty());
  for (const std::uint32_t part_bytes : {64U, 256U * 1024U}) check_cut(spec, part_bytes);
}

void check_status(const Status& status) {
  STRETTO_CHECK(!status.ok() && status.code() <= Code::kNotFinite);
  STRETTO_CHECK(!status.text().empty());
}

void check_message(const control::Message& message) {
  if (const auto* roster = std::get_if<Roster>(&message)) check_roster(*roster);
  if (const auto* open = std::get_if<control::Open>(&message)) check_spec(open->spec);
  if (const auto* wanted = std::get_if<control::Wanted>(&message)) check_spec(wanted->spec);
  if (const auto* fault = std::get_if<control::Fault>(&message)) check_status(fault->why);
  if (const auto* failure = std::get_if<control::Failure>(&message)) check_status(failure->why);
  if (const auto* beat = std::get_if<control::Heartbeat>(&message)) {
    STRETTO_CHECK(beat->held.size() <= control::Heartbeat::kMostHeld);
    STRETTO_CHECK(beat->long_waits.size() <= control::Heartbeat::kMostLongWaits);
    for (const control::Held& held : beat->held) STRETTO_CHECK(held.time >= 0ns);
    for (const control::LongWait& wait : beat->long_waits) STRETTO_CHECK(wait.age >= 0ns);
    STRETTO_CHECK(beat->ended_waits.size() <= control::Heartbeat::kMostEndedWaits);
    for (const control::EndedWait& wait : beat->ended_waits) STRETTO_CHECK(wait.time >= 0ns);
    if (beat->activity) {
      STRETTO_CHECK(beat->activity->age >= 0ns && beat->activity->cpu >= 0ns);
      STRETTO_CHECK(beat->activity->awaits.size() <= control::Activity::kMostAwaited);
    }
  }
}

// Before admission a receiver decodes only the hello.
void check_greeting_frame(const Buffer& payload, const Result<control::Message>& message) {
  using namespace control;
  for (const bool ours : {false, true}) {
    if (!check_unadmitted(payload.bytes(), ours).ok()) continue;
    STRETTO_CHECK(ours || payload.size() <= kMaxGreetingBytes);
    if (!message.ok()) continue;
    STRETTO_CHECK(ours ? is<Welcome>(*message) || is<Fault>(*message)
                       : is<Hello>(*message) || is<Resume>(*message));
  }
}

void run(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const Buffer payload = input.flag() ? fuzz::bytes_of(fuzz::control_from(input)) : input.rest();
  const Result<control::Message> message = control::decode(payload);
  check_greeting_frame(payload, message);
  if (!message.ok()) {
    const Code code = message.status().code();
    STRETTO_CHECK(code == Code::kMalformed || code == Code::kRefused);
    return;
  }
  check_message(*message);
  if (const auto* declare = std::get_if<control::Declare>(&*message)) {
    if (!declare->flaw.ok()) return;  // No node sends one.
    check_spec(declare->spec);
  }
  const Buffer bytes = control::encode(*message);
  const Result<control::Message> again = control::decode(bytes);
  STRETTO_CHECK(again.ok() && again->index() == message->index());
  check_message(*again);
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::run(data, size);
  return 0;
}
