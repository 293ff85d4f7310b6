// SPDX-License-Identifier: Apache-2.0
// Decoded messages, and the errors of malformed ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "van/control/control.pb.h"
#include "van/control/control_codec.h"

namespace stretto::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Protobuf's encoding, for messages that our encoder would not make.
Buffer bytes_of(const wire::Control& message) {
  const std::string bytes = message.SerializeAsString();
  return Buffer::copy_of(std::as_bytes(std::span(bytes)));
}

Result<Message> read(const wire::Control& message) { return decode(bytes_of(message)); }

// One of our messages in its Protobuf form, whose fields a test then changes.
wire::Control to_spoil(const Message& message) {
  const Buffer bytes = encode(message);
  wire::Control spoilt;
  EXPECT_TRUE(spoilt.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  return spoilt;
}

template <typename T>
T there_and_back(const T& message) {
  Result<Message> come = decode(encode(message));
  EXPECT_TRUE(come.ok()) << come.status().text();
  return std::get<T>(*std::move(come));
}

// ---- bytes and errors

TEST(ControlDecode, RejectsEmptyGarbageOrOversizedMessage) {
  EXPECT_EQ(decode(Buffer()).status().code(), Code::kMalformed);
  EXPECT_EQ(decode(Buffer::copy_of(std::as_bytes(std::span("garbage")))).status().code(),
            Code::kMalformed);
  wire::Control large;
  large.mutable_fault()->set_cause(std::string(wire::kMaxControlBytes, 'x'));
  EXPECT_EQ(read(large).status().code(), Code::kMalformed);
}

TEST(ControlDecode, FaultsCarryCodeCauseAndPeer) {
  const Status why = Status(Code::kPeerLost, "worker 3 is lost").with_peer("worker 3");
  const Status come = there_and_back(Fault{.why = why}).why;
  EXPECT_EQ(come, why);
  EXPECT_EQ(come.peer(), "worker 3");
}

TEST(ControlDecode, EveryCodeTravels) {
  for (int code = 1; code <= static_cast<int>(Code::kInterrupted); ++code) {
    const Status why(static_cast<Code>(code), "x");
    EXPECT_EQ(there_and_back(Fault{.why = why}).why.code(), why.code());
    EXPECT_EQ(there_and_back(StatePiece{.why = why}).why.code(), why.code());
  }
  EXPECT_TRUE(there_and_back(StatePiece{}).why.ok());
}

TEST(ControlDecode, AnyPlaceAndMachineNeedJoiningServers) {
  const Move wish{.joining = 2, .any = true, .machine = 7};
  EXPECT_EQ(there_and_back(wish).joining, 2U);
  wire::Control message = to_spoil(wish);
  message.mutable_move()->set_joining(0);
  EXPECT_EQ(read(message).status().code(), Code::kMalformed);
  message.mutable_move()->set_any(false);
  EXPECT_EQ(read(message).status().code(), Code::kMalformed);
  message.mutable_move()->set_machine(0);
  EXPECT_TRUE(read(message).ok());
}

TEST(ControlDecode, CodesThatAreNotKnownBecomeCancelledAndNeverOk) {
  wire::Control message;
  for (const std::uint32_t code : {0U, 99U, 1000U}) {
    message.mutable_fault()->set_code(code);
    EXPECT_EQ(std::get<Fault>(*read(message)).why.code(), Code::kCancelled);
    message.mutable_failure()->set_code(code);
    EXPECT_EQ(std::get<Failure>(*read(message)).why.code(), Code::kCancelled);
  }
}

TEST(ControlDecode, TextsAreHeldToTheirLimits) {
  wire::Control message;
  message.mutable_fault()->set_cause(std::string(10'000, 'x'));
  EXPECT_EQ(std::get<Fault>(*read(message)).why.cause().size(), 4096 + 3U);
  message.mutable_link_report()->set_cause(std::string(10'000, 'x'));
  EXPECT_EQ(std::get<LinkReport>(*read(message)).cause.size(), LinkReport::kMaxCauseBytes + 3);
  message = to_spoil(Hello{});
  message.mutable_hello()->set_host(std::string(10'000, 'x'));
  EXPECT_EQ(std::get<Hello>(*read(message)).host.size(), Hello::kMaxHostBytes + 3);
}

// ---- members

TEST(ControlDecode, AHelloOfARoleThatIsNotKnownIsRefused) {
  for (const std::uint32_t role : {0U, 6U, 256U + 3}) {
    wire::Control message = to_spoil(Hello{.protocol = wire::kProtocol, .host = "here:1"});
    message.mutable_hello()->set_role(role);
    EXPECT_EQ(read(message).status().code(), Code::kRefused);
    EXPECT_THAT(read(message).status().cause(),
                HasSubstr("here:1 comes as role " + std::to_string(role)));
  }
}

TEST(ControlDecode, ReadsHelloOfOtherProtocolWithUnknownRole) {
  wire::Control message = to_spoil(Hello{.protocol = wire::kProtocol, .host = "here:1"});
  message.mutable_hello()->set_protocol(wire::kProtocol + 1);
  message.mutable_hello()->set_role(6);
  ASSERT_TRUE(read(message).ok());
  EXPECT_EQ(std::get<Hello>(*read(message)).protocol, wire::kProtocol + 1);
}

TEST(ControlDecode, RejectsRankOutOfRange) {
  for (const std::int64_t rank :
       {std::int64_t{-1}, std::int64_t{kMaxNodes}, std::int64_t{1} << 32}) {
    wire::Control message;
    message.mutable_welcome()->set_rank(rank);
    EXPECT_EQ(read(message).status().code(), Code::kMalformed);
  }
}

// ---- tensors

TEST(ControlDecode, ATensorThatCannotBeIsToldByItsName) {
  wire::Control message = to_spoil(Declare{fake::spec("grads", Dtype::kF32, 10)});
  message.mutable_declare()->mutable_spec()->set_dtype(9);
  const Declare declare = std::get<Declare>(*read(message));
  EXPECT_EQ(declare.spec.name, "grads");
  EXPECT_THAT(declare.flaw.cause(), HasSubstr("dtype 9 of tensor 'grads'"));
}

TEST(ControlDecode, AnOpenOrAWishForNoTensorIsMalformed) {
  wire::Control message;
  message.mutable_open()->set_tensor(1);
  EXPECT_EQ(read(message).status().code(), Code::kMalformed);
  EXPECT_THAT(read(message).status().cause(), HasSubstr("an open names a tensor that makes no"));
  message.mutable_wanted()->set_part(1);
  EXPECT_THAT(read(message).status().cause(), HasSubstr("a wish names a tensor that makes no"));
}

TEST(ControlDecode, APieceOfStateIsNoLargerThanWasAgreed) {
  StateRequest request{.set = std::string(StatePiece::kMaxBytes, 'x')};
  StatePiece piece{.piece = request.set};
  EXPECT_TRUE(decode(encode(request)).ok());
  EXPECT_TRUE(decode(encode(piece)).ok());
  request.set += 'x';
  piece.piece += 'x';
  EXPECT_EQ(decode(encode(request)).status().code(), Code::kMalformed);
  EXPECT_EQ(decode(encode(piece)).status().code(), Code::kMalformed);
}

// ---- signs of life

TEST(ControlDecode, LimitsHeartbeatFields) {
  wire::Control message;
  wire::Heartbeat& beat = *message.mutable_heartbeat();
  for (std::uint32_t i = 0; i < 100; ++i) {
    beat.add_held()->set_rank(i);
    wire::LongWait& wait = *beat.add_long_waits();
    wait.set_tensor(std::string(1000, 'w'));
    for (std::uint32_t rank = 0; rank < 20; ++rank) wait.add_ranks(rank);
  }
  beat.mutable_held(0)->set_ns(~std::uint64_t{0});
  beat.mutable_long_waits(0)->set_ns(~std::uint64_t{0});
  beat.mutable_long_waits(1)->set_tensor("a\nb");
  beat.mutable_input()->set_stall_ns(~std::uint64_t{0});
  for (int i = 0; i < 100; ++i) beat.add_ended_waits()->set_ns(~std::uint64_t{0});
  wire::Activity& activity = *beat.mutable_activity();
  activity.set_place(200);
  activity.set_rest(~0U);
  activity.set_ns(~std::uint64_t{0});
  activity.set_call(std::string(1000, 'c'));
  activity.set_rest_on("a\nb");
  for (std::uint32_t node = 0; node < 100; ++node) activity.add_awaits(node);
  for (int i = 0; i < 10; ++i) {
    beat.add_chosen()->set_plan(std::string(1000, 'p'));
    beat.mutable_chosen(i)->set_why(std::string(1000, '\n'));
  }
  beat.add_reports()->set_name("with\nend");
  beat.add_reports()->set_name("loss");
  const Heartbeat told = std::get<Heartbeat>(*read(message));
  ASSERT_EQ(told.held.size(), Heartbeat::kMostHeld);
  EXPECT_EQ(told.held.front().rank, 1U) << "what cannot have been measured is left out";
  ASSERT_EQ(told.long_waits.size(), Heartbeat::kMostLongWaits);
  EXPECT_EQ(told.long_waits[0].ranks.size(), LongWait::kMostRanks);
  EXPECT_EQ(told.long_waits[0].tensor.size(), LongWait::kMaxNameBytes + 3);
  EXPECT_EQ(told.long_waits[1].tensor, "a\\nb");
  EXPECT_GT(told.long_waits[0].age, 24h);
  EXPECT_LT(told.long_waits[0].age, Duration::max() / 2) << "the scheduler takes it twice";
  EXPECT_GT(told.input->stall, 24h);
  EXPECT_EQ(told.reports, (UserMetricValues{{"loss", 0}}));
  EXPECT_EQ(told.ended_waits.size(), Heartbeat::kMostEndedWaits);
  ASSERT_EQ(told.chosen.size(), Heartbeat::kMostChosen);
  EXPECT_EQ(told.chosen[0].plan.size(), Chosen::kMaxPlanBytes + 3);
  EXPECT_THAT(told.chosen[0].why, testing::StartsWith("\\n\\n"));
  ASSERT_TRUE(told.activity);
  EXPECT_EQ(told.activity->place, Activity::Place::kOutside) << "what is not known here";
  EXPECT_EQ(told.activity->rest, Activity::Rest::kUnknown);
  EXPECT_GT(told.activity->age, 24h);
  EXPECT_EQ(told.activity->call.size(), Activity::kMaxTextBytes + 3);
  EXPECT_EQ(told.activity->rest_on, "a\\nb");
  EXPECT_EQ(told.activity->awaits.size(), Activity::kMostAwaited);
}

// ---- traces and observers

TEST(ControlDecode, UnknownOrderOrQuestionDecodesToNone) {
  wire::Control message;
  for (const int number : {-1, 4, 256 + 1}) {
    message.mutable_trace_command()->set_action(static_cast<wire::TraceCommand::Action>(number));
    EXPECT_EQ(std::get<TraceCommand>(*read(message)).action, TraceCommand::Action::kNone);
  }
  for (const int number : {-1, 7, 256 + 1}) {
    message.mutable_observe()->set_what(static_cast<wire::Observe::What>(number));
    EXPECT_EQ(std::get<Observe>(*read(message)).what, Observe::What::kNothing);
  }
}

TEST(ControlDecode, CutsTraceChunkToCompleteNotesAndLimit) {
  EXPECT_EQ(there_and_back(TraceChunk{.notes = std::vector<TraceNote>(3)}).notes.size(), 3U);
  wire::Control message;
  message.mutable_trace_chunk()->set_notes(std::string(sizeof(TraceNote) + 1, 'x'));
  EXPECT_EQ(std::get<TraceChunk>(*read(message)).notes.size(), 1U);
  const std::vector<TraceNote> many(TraceChunk::kMostNotes + 1);
  EXPECT_EQ(std::get<TraceChunk>(*decode(encode(TraceChunk{.notes = many}))).notes.size(),
            TraceChunk::kMostNotes);
}

// ---- rosters

TEST(Roster, SurvivesEncodingUnchanged) {
  Roster sent = fake::roster(3, 2);
  sent.epoch = 9;
  sent.fence = 8;
  sent.members[1].left = true;
  sent.settings = {.part_bytes = 128,
                   .link_window_bytes = 11,
                   .total_window_bytes = 12,
                   .heartbeat = 13ms,
                   .dead_after = 14ms,
                   .stall_error = 16ms};
  const Roster come = there_and_back(sent);
  EXPECT_EQ(to_spoil(come).SerializeAsString(), to_spoil(sent).SerializeAsString());
  EXPECT_EQ(come.find(51)->address, "shard1:1");
  EXPECT_TRUE(come.find(11)->left);
  EXPECT_EQ(come.settings.stall_error, 16ms);
  EXPECT_EQ(come.find(99), nullptr);
}

TEST(Roster, MayHaveNoServers) {
  Roster sent = fake::roster(3, 0);
  sent.servers = 0;
  sent.slots = 0;
  const Roster come = there_and_back(sent);
  EXPECT_EQ(come.servers, 0U);
  EXPECT_EQ(come.slots, 0U);
  EXPECT_EQ(come.members.size(), 3U);
}

struct BadRoster {
  const char* name;
  void (*spoil)(wire::Roster&);
};
void PrintTo(const BadRoster& bad, std::ostream* out) { *out << bad.name; }

class BadRosters : public testing::TestWithParam<BadRoster> {};

TEST_P(BadRosters, AreMalformed) {
  wire::Control message = to_spoil(fake::roster(2, 2));
  ASSERT_TRUE(read(message).ok());
  GetParam().spoil(*message.mutable_roster());
  EXPECT_EQ(read(message).status().code(), Code::kMalformed);
}

using R = wire::Roster;

INSTANTIATE_TEST_SUITE_P(
    All, BadRosters,
    testing::Values(
        BadRoster{"NodeTwice", [](R& r) { r.mutable_members(1)->set_node(10); }},
        BadRoster{"NodeZero", [](R& r) { r.mutable_members(1)->set_node(0); }},
        BadRoster{"TheSchedulersNode", [](R& r) { r.mutable_members(1)->set_node(1); }},
        BadRoster{"WorkerRankTwice", [](R& r) { r.mutable_members(1)->set_rank(0); }},
        BadRoster{"WorkerRankTooHigh", [](R& r) { r.mutable_members(1)->set_rank(2); }},
        BadRoster{"ServerRankTooHigh", [](R& r) { r.mutable_members(2)->set_rank(1); }},
        BadRoster{"ShardTwice", [](R& r) { r.mutable_members(3)->set_shard(0); }},
        BadRoster{"RoleZero", [](R& r) { r.mutable_members(0)->set_role(0); }},
        BadRoster{"ASchedulerAmongThem", [](R& r) { r.mutable_members(0)->set_role(1); }},
        BadRoster{"RoleThatWraps", [](R& r) { r.mutable_members(0)->set_role(256 + 3); }},
        BadRoster{"TooManyWorkers", [](R& r) { r.set_workers(kMaxNodes + 1); }},
        BadRoster{"NoSlots", [](R& r) { r.set_slots(0); }},
        BadRoster{"SlotsWithoutServers",
                  [](R& r) { r.set_servers(0), r.mutable_members()->DeleteSubrange(2, 2); }},
        BadRoster{"AServerOfNone", [](R& r) { r.set_servers(0), r.set_slots(0); }},
        BadRoster{"TooManySlots", [](R& r) { r.set_slots((1 << 20) + 1); }},
        BadRoster{"NoSettings", [](R& r) { r.clear_settings(); }},
        BadRoster{"PartTooSmall", [](R& r) { r.mutable_settings()->set_part_bytes(32); }},
        BadRoster{"PartUneven", [](R& r) { r.mutable_settings()->set_part_bytes(100); }},
        BadRoster{"PartTooLarge",
                  [](R& r) { r.mutable_settings()->set_part_bytes((16 << 20) + 64); }},
        BadRoster{"NoLinkWindow", [](R& r) { r.mutable_settings()->set_link_window_bytes(0); }},
        BadRoster{"NoTotalWindow", [](R& r) { r.mutable_settings()->set_total_window_bytes(0); }},
        BadRoster{"NoHeartbeat", [](R& r) { r.mutable_settings()->set_heartbeat_ns(0); }},
        BadRoster{"EternalPatience",
                  [](R& r) { r.mutable_settings()->set_dead_after_ns(~std::uint64_t{0}); }},
        BadRoster{"NoStallLimit", [](R& r) { r.mutable_settings()->set_stall_error_ns(0); }}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Roster, ARosterOfTooManyMembersIsRefused) {
  wire::Control message = to_spoil(fake::roster(1, 1));
  for (std::uint32_t i = 0; i < kMaxNodes; ++i) {
    *message.mutable_roster()->add_members() = message.roster().members(0);
  }
  EXPECT_THAT(read(message).status().cause(),
              HasSubstr(std::to_string(kMaxNodes + 2) + " members"));
}

}  // namespace
}  // namespace stretto::control
