// SPDX-License-Identifier: Apache-2.0
// The bytes of each message, which never change: releases with the same protocol must interoperate.
// They were made with protoc, not by the code under test:
//   echo 'sit_out { number: 3 over: true }' | protoc --encode=stretto.wire.Control
//   van/control/control.proto
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "van/control/control_codec.h"

namespace stretto::control {
namespace {

struct Golden {
  const char* name;
  Message message;
  std::string bytes;
};
void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.name; }

std::string hex_of(const Buffer& buffer) {
  std::string text;
  for (const std::byte byte : buffer.bytes()) {
    text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  }
  return text;
}

Buffer bytes_from(const std::string& hex) {
  Buffer buffer = Buffer::allocate(hex.size() / 2);
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    buffer.writable()[i] = static_cast<std::byte>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return buffer;
}

Status gone() { return Status(Code::kPeerLost, "gone").with_peer("worker 3"); }

Roster roster() {
  return {.epoch = 3,
          .fence = 2,
          .workers = 2,
          .servers = 1,
          .slots = 4096,
          .since = 1,
          .members = {{.node = 10, .role = Role::kWorker, .rank = 1, .address = {}, .left = true},
                      {.node = 50, .role = Role::kServer, .shard = 1, .address = "s:1"}},
          .settings = {.part_bytes = 128,
                       .link_window_bytes = 11,
                       .total_window_bytes = 12,
                       .heartbeat = 13ms,
                       .dead_after = 14ms,
                       .stall_error = 16ms}};
}

TensorSpec adam() {
  TensorSpec spec{.name = "w", .dtype = Dtype::kF32, .elements = 1000, .options = {}};
  spec.options.mode = Mode::kBounded;
  spec.options.bound = 3;
  spec.options.update = {.rule = Rule::kAdam,
                         .rate = 0.5,
                         .beta1 = 0.125,
                         .beta2 = 0.75,
                         .epsilon = 2,
                         .weight_decay = 4};
  spec.options.bulk = true;
  spec.options.shape = "10x100";
  spec.options.codec = CodecSpec{.codec = Codec::kDithering,
                                 .k = 7,
                                 .error_feedback = true,
                                 .momentum = true,
                                 .mu = 0.5,
                                 .seed = 9,
                                 .levels = DitherLevels::kNatural,
                                 .norm = DitherNorm::kL2};
  return spec;
}

TensorSpec momentum() {
  TensorSpec spec{.name = "v", .dtype = Dtype::kF64, .elements = 8, .options = {}};
  spec.options.update = {.rule = Rule::kMomentum, .rate = 0.5, .momentum = 0.25, .nesterov = true};
  spec.options.deterministic = true;
  return canonical(spec);
}

TensorSpec topk() {
  TensorSpec spec{.name = "u", .dtype = Dtype::kF32, .elements = 8, .options = {}};
  spec.options.codec = CodecSpec{.codec = Codec::kTopk, .k = 2};
  return canonical(spec);
}

Heartbeat heartbeat() {
  return {
      .number = 1,
      .rounds = 2,
      .staleness = 3,
      .bytes_in = 4,
      .bytes_out = 5,
      .frames_waiting = 6,
      .bytes_in_flight = 7,
      .held = {{.rank = 1, .time = 8ns}, {.rank = 2, .time = 9ns}},
      .input = InputTotals{.at = Time(10ns),
                           .delivered_bytes = 11,
                           .demanded_bytes = 12,
                           .stall = 13ns,
                           .requests = 14,
                           .latency = 15ns,
                           .in_flight_bytes = 17,
                           .read_bytes = 16},
      .waits_in = "barrier",
      .elsewhere = "worker 1",
      .input_limit_bytes = 18,
      .reports = {{"accuracy", 0.25}, {"loss", 0.5}},
      .long_waits =
          {{.tensor = "w", .round = 19, .age = 20ns, .ranks = {1, 300}, .workers = 3, .tensors = 4},
           {.tensor = "v"}},
      .ended_waits = {{.rounds = 21, .time = 22ns}},
      .activity = Activity{.place = Activity::Place::kInCall,
                           .age = 23ns,
                           .call = "declare",
                           .pause = "saving",
                           .begun = "push 'w'",
                           .ended = "pull 'w'",
                           .awaits = {24, 25},
                           .held = true,
                           .cpu = 26ns,
                           .page_reads = 27,
                           .rest = Activity::Rest::kLock,
                           .rest_on = "futex"},
      .chosen = {{.plan = "ring", .tensors = 28, .bytes = 29, .why = "ring: 1 ms"}}};
}

TraceNote note() {
  return {.span = {.begin_ns = 1,
                   .end_ns = 2,
                   .round = 3,
                   .tensor = 4,
                   .part = 5,
                   .bytes = 6,
                   .peer = 7,
                   .priority = -8,
                   .kind = TraceKind::kQueueWait,
                   .frame = 9},
          .since_ns = 11};
}

std::vector<Golden> of_members_and_tensors() {
  return {
      {"Hello",
       Hello{.protocol = 3,
             .token = "secret",
             .role = Role::kServer,
             .rank = -1,
             .workers = 2,
             .servers = 3,
             .node = 4,
             .address = "a:1",
             .shard = 5,
             .shards = 6,
             .host = "h:7",
             .version = "0.9"},
       "0a3008031206736563726574180220ffffffffffffffffff012802300338044203613a3148055006"
       "5a03683a376203302e39"},
      {"Welcome", Welcome{.node = 300, .rank = 2, .job = 0x0102030405060708},
       "120e08ac021002190807060504030201"},
      {"Fault", Fault{.why = gone(), .tensor = 1, .part = 2, .round = 3, .name = "w"},
       "1a1b08061204676f6e651801200228033201773a08776f726b65722033"},
      {"Roster", roster(),
       "223c08031002180220012a08080a1003180130012a0b0832100220012a03733a313216088001100b"
       "180c20c0ba99062880bfd6063880c8d0073880204001"},
      {"Declare", Declare{.spec = adam()},
       "2a720a700a0177100118e80720022803300539000000000000e03f41cdccccccccccec3f51000000"
       "000000c03f59000000000000e83f6100000000000000406900000000000010407a1e080711000000"
       "0000001c402001280131000000000000e03f3809400148018001018a0106313078313030"},
      {"Declared",
       Declared{.tensor = 1, .first_slot = 2, .name = "w", .owners = {{2, 3, 50}, {0, 1, 51}}},
       "3215080110021a01772206080210031832220410011833"},
      {"Open", Open{.tensor = 4, .spec = momentum(), .first_slot = 5},
       "3a420804123c0a0176100218082001300439000000000000e03f41000000000000d03f480151cdcc"
       "ccccccccec3f592b8716d9cef7ef3f613a8c30e28e79453e70011805"},
      {"Barrier", Barrier{.number = 7, .sits_out = true, .last = 2}, "4206080710011802"},
      {"BarrierOfACheckpoint",
       Barrier{.number = 3, .sits_out = true, .last = 2, .step = 9, .checkpoint = 4, .alike = 5},
       "421308031001180220092804390500000000000000"},
      {"CheckpointCut",
       CheckpointCut{.job = 5, .number = 6, .step = 7, .workers = {8, 9}, .alike = true},
       "ea010c080510061807220208092801"},
      {"BarrierThatIsLeft", Barrier{.number = 3, .withdraws = true}, "420408033001"},
  };
}

std::vector<Golden> of_comebacks() {
  return {
      {"Recall",
       Recall{.tensor = 1, .part = 2, .round = 3, .version = 4, .finished = 5, .owed = true},
       "82020c080110021803200428053001"},
      {"StandbyReady", StandbyReady{.node = 9}, "8a02020809"},
      {"Move", Move{.server = 3, .host = "b"},
       "aa020508031201"
       "62"},
      {"MoveToWhoJoins",
       Move{.server = 5, .joining = 1, .any = true, .machine = 7, .other = 1, .settings = "A=1\n"},
       "aa0217080528013001390700000000000000"
       "40014a04413d310a"},
      {"PartImage",
       PartImage{.tensor = 1,
                 .part = 2,
                 .version = 3,
                 .finished = 4,
                 .empty = 1,
                 .workers = {{.node = 5, .rounds = 6, .before = 2, .number = 1}},
                 .total = 7,
                 .made_nothing = true},
       "9a0218080110021803200428013208080510061802200138074001"},
      {"LogEntry",
       LogEntry{.tensor = 1,
                .part = 2,
                .version = 3,
                .worker = 4,
                .listeners = 5,
                .assign = true,
                .total = 6},
       "a2020e0801100218032004280530013806"},
      {"LogEntryOfOthers",
       LogEntry{
           .tensor = 1,
           .part = 2,
           .version = 3,
           .total = 6,
           .regrouped =
               LogEntry::Regrouped{.makers = {5, 7},
                                   .workers = {{.node = 5, .rounds = 6, .before = 2, .number = 1}},
                                   .finished = 4,
                                   .empty = 1}},
       "a2021a0801100218033806420205074a08080510061802200150045801"},
      {"BarrierThatHasOpened", Barrier{.number = 3, .opened = true}, "420408034001"},
      {"HelloAgain", Hello{.protocol = 4, .node = 9, .job = 5, .life = 2, .padding = 3},
       "0a180804180338097905000000000000008001028a0103000000"},
      {"Resume",
       Resume{.protocol = 3,
              .token = "ab",
              .session = 0x0102030405060708,
              .link = 2,
              .received = 3,
              .padding = 2},
       "b20117080312026162190807060504030201200228033202"
       "0000"},
      {"Resumed", Resumed{.received = 4, .padding = 2}, "ba0106080412020000"},
      {"WelcomeOfALaterScheduler", Welcome{.node = 3, .rank = 1, .job = 5, .life = 2},
       "120f08031001190500000000000000"
       "2002"},
      {"WelcomeOfWhoStandsBy", Welcome{.node = 3, .rank = 1, .stands_by = true, .padding = 1},
       "1209080310012801320100"},
  };
}

std::vector<Golden> of_signs_and_sights() {
  return {
      {"Heartbeat", heartbeat(),
       "4adc0108011002180320042805300638074204080110084204080210094a10080a100b180c200d280e300f3811"
       "401050125a07626172726965726208776f726b657220316a130a08616363757261637911000000000000d03f6a"
       "0f0a046c6f737311000000000000e03f72100a017710131814220301ac022803300472030a01767a0408151016"
       "82013c080110171a076465636c6172652206736176696e672a087075736820277727320870756c6c202777273a"
       "0218194001481a501b5802620566757465789a01160a0472696e67101c181d220a72696e673a2031206d73"},
      {"Leave", Leave{}, "5200"},
      {"Failure", Failure{Status(Code::kInterrupted, "SIGTERM").with_peer("worker 1")},
       "5a15080f1208776f726b657220311a075349475445524d"},
      {"LinkReport", LinkReport{.node = 50, .cause = "reset"}, "6209083212057265736574"},
      {"Steer",
       Steer{.call = 9, .priority = -3, .deadline_us = 1000, .paused = true, .cancelled = true},
       "6a0b0809100518e80720012801"},
      {"TraceCommand",
       TraceCommand{
           .action = TraceCommand::Action::kStart, .session = 2, .iterations = 3, .records = 4},
       "72080801100218032004"},
      {"TraceChunk",
       TraceChunk{.session = 1, .notes = {note()}, .dropped = 2, .reached = true, .refused = true},
       "7a420801180220012801323801000000000000000200000000000000030000000000000004000000"
       "050000000600000007000000f8ffffff020900000b00000000000000"},
      {"Observe",
       Observe{
           .what = Observe::What::kRecords, .first = 1, .iterations = 2, .seconds = 3, .offset = 4},
       "82010a08041001180220032804"},
      {"Observed", Observed{.what = Observe::What::kRecords, .text = "{}", .records = "ab"},
       "8a010a080412027b7d1a026162"},
      {"StateRequest",
       StateRequest{.number = 1, .tensor = 2, .part = 3, .offset = 4, .set = "ab", .total = 5},
       "92010e08011002180320042a0261623005"},
      {"StatePiece",
       StatePiece{
           .number = 1, .total = 2, .version = 3, .piece = "ab", .why = {Code::kMismatch, "no"}},
       "9a011008011002180322026162280232026e6f"},
      {"SitOut", SitOut{.number = 3, .over = true}, "a2010408031001"},
      {"Wanted", Wanted{.spec = topk(), .part = 1, .round = 2},
       "aa01540a4e0a01751001180820013001397b14ae47e17a843f41cdccccccccccec3f51cdcccccccc"
       "ccec3f592b8716d9cef7ef3f613a8c30e28e79453e7a14080511000000000000004031cdcccccccc"
       "ccec3f10011802"},
      {"AtStep", AtStep{.number = 2, .step = 9, .checkpoint = true, .held_us = 5},
       "c201080802100918012005"},
      {"TakeIn", TakeIn{.step = 9, .barriers = 3, .nodes = {7, 8}}, "ca0108080910031a020708"},
      {"TermPlan", TermPlan{.tensor = 3, .round = 4, .primitive = 1, .weights = {64, 0}},
       "d2010a08031004180122024000"},
      {"Rate", Rate{.bytes_per_second = 5}, "da01020805"},
      {"Regroup",
       Regroup{.decided = true,
               .generation = 2,
               .members = {7, 8},
               .finished = {{.tensor = 3, .least = 4, .ahead = {0, 1}}}},
       "e20112080110021a0207082208080310041a020001"},
      {"CheckpointSaved",
       CheckpointSaved{.number = 6,
                       .file = "f",
                       .bytes = 100,
                       .seal = 7,
                       .entries = 8,
                       .why = {Code::kResource, "full"}},
       "f201160806120166186425070000002808300c3a0466756c6c"},
      {"CheckpointEnded", CheckpointEnded{.number = 6, .why = {Code::kResource, "full"}},
       "fa010a0806100c1a0466756c6c"},
  };
}

std::vector<Golden> goldens() {
  std::vector<Golden> all = of_members_and_tensors();
  for (Golden& golden : of_comebacks()) all.push_back(std::move(golden));
  for (Golden& golden : of_signs_and_sights()) all.push_back(std::move(golden));
  return all;
}

class EachMessage : public testing::TestWithParam<Golden> {};

TEST_P(EachMessage, HasTheBytesThatItAlwaysHad) {
  EXPECT_EQ(hex_of(encode(GetParam().message)), GetParam().bytes);
}

TEST_P(EachMessage, LosesNothingWhenItIsRead) {
  const Result<Message> read = decode(bytes_from(GetParam().bytes));
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->index(), GetParam().message.index());
  EXPECT_EQ(hex_of(encode(*read)), GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(All, EachMessage, testing::ValuesIn(goldens()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(ControlEncode, EachKindOfMessageHasAGoldenOne) {
  std::set<std::size_t> kinds;
  for (const Golden& golden : goldens()) kinds.insert(golden.message.index());
  EXPECT_EQ(kinds.size(), std::variant_size_v<Message>);
}

}  // namespace
}  // namespace stretto::control
