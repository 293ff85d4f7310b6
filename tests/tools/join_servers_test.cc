// SPDX-License-Identifier: Apache-2.0
// stretto-launch join HOST:PORT --servers N: what is typed, what each server is told, and what is
// said of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "common/launch_protocol/migration_lines.h"
#include "tools/launch/join/external_server_tracker.h"
#include "tools/launch/join/server_join.h"

namespace stretto::launch {
namespace {

using observe::ServerJoinStatus;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using What = ServerJoinStatus::What;

Result<ServerJoin> wish(const std::vector<std::string>& words) { return servers_wish(words); }
std::string refusal(const std::vector<std::string>& words) { return wish(words).status().cause(); }

TEST(ServerJoinTest, ParsesServerCountAndPlaces) {
  const Result<ServerJoin> some = wish({"node1:9000", "--servers", "3", "--port=9700"});
  ASSERT_TRUE(some.ok()) << some.status().text();
  EXPECT_EQ(some->scheduler, "node1:9000");
  EXPECT_EQ(some->count, 3U);
  EXPECT_THAT(some->places, IsEmpty());
  EXPECT_EQ(some->port, 9700U);
  const Result<ServerJoin> named = wish({"node1:9000", "--place", "1,0", "--place=5"});
  ASSERT_TRUE(named.ok()) << named.status().text();
  EXPECT_EQ(named->count, 3U);
  EXPECT_THAT(named->places, ElementsAre(1, 0, 5));
  EXPECT_TRUE(wish({"node1:9000", "-s", "1", "--place", "1"}).ok());
}

TEST(ServerJoinTest, AWorkersProgramIsAnotherThing) {
  const auto wants = [](const std::vector<std::string>& words) { return wants_servers(words); };
  EXPECT_TRUE(wants({"node1:9000", "--servers", "2"}));
  EXPECT_TRUE(wants({"node1:9000", "--place=1"}));
  EXPECT_TRUE(wants({"node1:9000", "--server", "1"})) << "so that it is told how it is called";
  EXPECT_TRUE(wants({"--servers", "1"}));
  EXPECT_FALSE(wants({"node1:9000", "--", "train", "--servers"}));
  EXPECT_FALSE(wants({"node1:9000", "train", "--servers"}));
  EXPECT_FALSE(wants({"node1:9000"}));
  EXPECT_FALSE(wants({}));
}

TEST(ServerJoinTest, NamesInvalidOptionOrValue) {
  EXPECT_THAT(refusal({"node1", "--servers", "2"}), HasSubstr("'node1', wanted HOST:PORT"));
  EXPECT_THAT(refusal({"--servers", "2"}), HasSubstr("'--servers', wanted HOST:PORT"));
  EXPECT_THAT(refusal({"node1:9", "--server", "2"}), HasSubstr("'--server' is not understood"));
  EXPECT_THAT(refusal({"node1:9", "--servers", "0"}), HasSubstr("--servers is '0', wanted"));
  EXPECT_THAT(refusal({"node1:9", "--servers", "2x"}), HasSubstr("is '2x'"));
  EXPECT_THAT(refusal({"node1:9", "--servers"}), HasSubstr("--servers wants a value"));
  EXPECT_THAT(refusal({"node1:9", "--place", "1,,2"}), HasSubstr("--place is ''"));
  EXPECT_THAT(refusal({"node1:9", "--place", "1", "--place", "1"}), HasSubstr("server 1 twice"));
  EXPECT_THAT(refusal({"node1:9", "--servers", "2", "--place", "1"}), HasSubstr("names 1"));
  EXPECT_THAT(refusal({"node1:9", "--servers", "2", "--", "train"}), HasSubstr("'--'"));
  EXPECT_THAT(refusal({"node1:9", "--port", "5000"}), HasSubstr("neither --servers nor --place"));
  EXPECT_THAT(refusal({"node1:9", "--bin-dir=x"}), HasSubstr("neither --servers nor --place"));
}

class VariablesOfGuests : public testing::Test {
 protected:
  Result<Variables> given(const Variables& inherited, const std::string& scheduler = "n:9") {
    return variables_of_guest({.scheduler = scheduler}, 6, told_, {scheduler, "secret", false},
                              inherited);
  }

  std::map<std::string, std::string> told_{
      {"STRETTO_SERVERS", "2"}, {"STRETTO_DEAD_AFTER_S", "5"}, {"STRETTO_TRANSPORT", "auto"}};
};

TEST_F(VariablesOfGuests, TheJobsSettingsAreTold) {
  const Result<Variables> all = given({{"STRETTO_DEAD_AFTER_S", "5.0"}});
  ASSERT_TRUE(all.ok()) << all.status().text();
  EXPECT_EQ(all->at("STRETTO_ROLE"), "server");
  EXPECT_EQ(all->at("STRETTO_RANK"), "6");
  EXPECT_EQ(all->at("STRETTO_JOB_TOKEN"), "secret");
  EXPECT_EQ(all->at("STRETTO_SERVERS"), "2");
  EXPECT_EQ(all->at("STRETTO_DEAD_AFTER_S"), "5");
  EXPECT_EQ(all->at("STRETTO_BIND_HOST"), "0.0.0.0");
  EXPECT_FALSE(all->contains("STRETTO_SERVER_PORT"));
}

TEST_F(VariablesOfGuests, RejectsConflictingJobVariables) {
  EXPECT_EQ(given({{"STRETTO_SERVERS", "3"}}).status().code(), Code::kMismatch);
  EXPECT_THAT(given({{"STRETTO_CHECKPOINT", "x"}}).status().cause(), HasSubstr("has none"));
  const Result<Variables> own = given({{"STRETTO_TRANSPORT", "tcp"}, {"STRETTO_BIND_HOST", "x"}});
  ASSERT_TRUE(own.ok()) << "these are this host's";
  EXPECT_FALSE(own->contains("STRETTO_TRANSPORT"));
  EXPECT_FALSE(own->contains("STRETTO_BIND_HOST"));
  EXPECT_FALSE(given({}, "127.0.0.1:9")->contains("STRETTO_BIND_HOST"));
}

TEST_F(VariablesOfGuests, EachShardHasAPort) {
  told_["STRETTO_SHARDS"] = "4";
  const auto at = [this](std::uint32_t port) {
    return variables_of_guest({.scheduler = "n:9", .port = port}, 6, told_, {"n:9", "", false}, {});
  };
  const Result<Variables> all = at(65535 - 28);  // Of server 6 the last is the 28th.
  ASSERT_TRUE(all.ok()) << all.status().text();
  EXPECT_EQ(all->at("STRETTO_SERVER_PORT"), std::to_string(65535 - 27));
  EXPECT_THAT(at(65535 - 27).status().cause(),
              HasSubstr("--port is 65508, and server 6 would need ports up to 65536"));
  EXPECT_EQ(at(65535).status().code(), Code::kInvalidArgument);
}

ServerJoinStatus starts(Rank server, Rank from) {
  return {.what = What::kStarts, .server = server, .from = from, .settings = "a"};
}

TEST(ExternalServerTrackerTest, FromTheStartToTheEnd) {
  ExternalServerTracker servers(2);
  EXPECT_TRUE(servers.waits());
  const auto first = servers.take(starts(4, 0));
  ASSERT_EQ(first.starts.size(), 1U);
  EXPECT_EQ(first.starts[0].server, 4U);
  EXPECT_THAT(first.notes, ElementsAre("server 4 is started, to have the place of server 0"));
  EXPECT_THAT(servers.take(starts(4, 0)).starts, IsEmpty()) << "once";
  ASSERT_EQ(servers.wishes().size(), 2U);
  EXPECT_EQ(servers.wishes()[1].count, 1U) << "one has not been answered";
  servers.take(starts(5, 1));
  EXPECT_THAT(servers.take(starts(7, 1)).starts, IsEmpty()) << "no more than were asked for";
  EXPECT_THAT(servers.take({.what = What::kIsIn, .server = 4}).notes,
              ElementsAre("server 4 has the place of server 0 now"));
  ASSERT_EQ(servers.wishes().size(), 1U);
  EXPECT_EQ(servers.wishes()[0].server, 5U);
  EXPECT_EQ(servers.wishes()[0].place, 1U);
  servers.take({.what = What::kIsIn, .server = 5});
  EXPECT_FALSE(servers.waits() || servers.over());
  EXPECT_THAT(servers.running(), ElementsAre(4, 5));
  servers.end(4, {});
  EXPECT_THAT(servers.end(5, {}).notes, ElementsAre(HasSubstr("server 5 has ended in order")));
  EXPECT_TRUE(servers.over());
  EXPECT_TRUE(servers.status().ok());
}

TEST(ExternalServerTrackerTest, ARefusalIsTheEnd) {
  ExternalServerTracker servers(3);
  servers.take({.what = What::kRefused, .why = {Code::kRefused, "no"}});
  EXPECT_TRUE(servers.over());
  EXPECT_EQ(servers.status().cause(), "no");
}

TEST(ExternalServerTrackerTest, KillsServerGivenUpAndKeepsOthers) {
  ExternalServerTracker servers(2);
  servers.take(starts(4, 0));
  servers.take(starts(5, 1));
  servers.take({.what = What::kIsIn, .server = 5});
  const auto given_up =
      servers.take({.what = What::kGivenUp, .server = 4, .why = {Code::kTimeout, "too late"}});
  EXPECT_THAT(given_up.kills, ElementsAre(4));
  EXPECT_THAT(given_up.notes,
              ElementsAre("server 4 does not have the place of server 0: too late"));
  EXPECT_FALSE(servers.waits());
  EXPECT_TRUE(servers.ends()) << "the scheduler is to hear it";
  EXPECT_THAT(servers.end(4, {true, SIGKILL}).notes, IsEmpty());
  EXPECT_FALSE(servers.ends());
  EXPECT_FALSE(servers.over());
  servers.end(5, {});
  EXPECT_TRUE(servers.over());
  EXPECT_EQ(servers.status().code(), Code::kTimeout) << "the first thing that went wrong";
  EXPECT_EQ(servers.status().peer(), "server 4");
}

TEST(ExternalServerTrackerTest, OneThatIsLostIsNamed) {
  ExternalServerTracker servers(1);
  servers.take(starts(4, 0));
  EXPECT_THAT(servers.end(4, {true, SIGKILL}).notes,
              ElementsAre("server 4 killed by SIGKILL, and never had the place it was for"));
  EXPECT_TRUE(servers.over());
  EXPECT_EQ(servers.status().cause(), "server 4 killed by SIGKILL");
}

TEST(ExternalServerTrackerTest, AndWhyIfItHasSaidThat) {
  ExternalServerTracker servers(1);
  servers.take(starts(4, 0));
  servers.take({.what = What::kIsIn, .server = 4});
  servers.end(4, {false, 69}, ErrorLine{Code::kPeerLost, "worker 1", "worker 1 is lost"});
  EXPECT_EQ(servers.status().code(), Code::kPeerLost);
  EXPECT_EQ(servers.status().cause(), "server 4 exited with status 69: worker 1 is lost");
}

TEST(ExternalServerTrackerTest, RefusalBeforeStartEndsWithItsError) {
  ExternalServerTracker servers(1);
  servers.take(starts(4, 0));
  EXPECT_THAT(servers.refuse(4, {Code::kMismatch, "other"}, false).kills, IsEmpty());
  EXPECT_TRUE(servers.over());
  EXPECT_EQ(servers.status().code(), Code::kMismatch);
}

TEST(ExternalServerTrackerTest, NextSchedulerRefusesSingleServer) {
  ExternalServerTracker servers(2, {0, 1});
  servers.take(starts(4, 0));
  servers.take(starts(5, 1));
  servers.give_up({Code::kSchedulerLost, "gone"});
  EXPECT_TRUE(servers.status().ok()) << "all was answered";
  EXPECT_THAT(servers.take({.what = What::kRefused, .why = {Code::kRefused, "no"}}).kills,
              IsEmpty());
  EXPECT_EQ(servers.wishes().size(), 2U);
  const auto refused =
      servers.take({.what = What::kGivenUp, .server = 4, .why = {Code::kRefused, "no"}});
  EXPECT_THAT(refused.kills, ElementsAre(4));
  EXPECT_TRUE(servers.waits()) << "for the other";
  servers.take({.what = What::kIsIn, .server = 5});
  EXPECT_THAT(servers.running(), ElementsAre(4, 5));
}

TEST(ExternalServerTrackerTest, RepeatsUnansweredRequestsToNextScheduler) {
  ExternalServerTracker servers(2, {3, 1});
  ASSERT_EQ(servers.wishes().size(), 2U);
  EXPECT_EQ(servers.wishes()[0].place, 3U);
  servers.take(starts(7, 3));
  const auto wishes = servers.wishes();
  ASSERT_EQ(wishes.size(), 2U);
  EXPECT_EQ(wishes[0].server, 7U);
  EXPECT_EQ(wishes[1].place, 1U);
  EXPECT_FALSE(wishes[1].server);
  servers.end(7, {true, SIGKILL});
  EXPECT_EQ(servers.take(starts(7, 1)).starts.size(), 1U) << "its number is free again";
  EXPECT_EQ(servers.wishes().size(), 1U);
}

TEST(ExternalServerTrackerTest, BySignalThoseWithoutAPlaceEndInOrder) {
  ExternalServerTracker servers(3);
  servers.take(starts(4, 0));
  servers.take(starts(5, 1));
  servers.interrupt();
  EXPECT_THAT(servers.wishes(), testing::SizeIs(2)) << "nothing new is asked for";
  EXPECT_THAT(servers.end(4, {false, 70}, ErrorLine{Code::kInterrupted, "-", "asked to end"}).notes,
              ElementsAre("server 4 has ended, as was asked, before it had the place of server 0"));
  servers.take({.what = What::kGivenUp, .server = 4, .why = {Code::kServerLost, "lost"}});
  servers.take({.what = What::kGivenUp, .server = 5, .why = {Code::kServerLost, "lost"}});
  servers.end(5, {true, SIGKILL});
  EXPECT_TRUE(servers.over());
  EXPECT_TRUE(servers.status().ok()) << servers.status().text();
}

TEST(ExternalServerTrackerTest, OneWithAPlaceThatIsNotHandedOverHasFailed) {
  const auto ends = [](bool stands_by, const std::string& cause) {
    ExternalServerTracker servers(1);
    servers.stand_by(stands_by);
    servers.take(starts(4, 0));
    servers.take({.what = What::kIsIn, .server = 4});
    servers.interrupt();
    servers.end(4, {false, 70}, ErrorLine{Code::kInterrupted, "-", cause});
    EXPECT_TRUE(servers.over());
    return servers.status().ok();
  };
  const std::string asked(kAskedToEnd);
  EXPECT_TRUE(ends(true, asked)) << "who stands by has all";
  EXPECT_FALSE(ends(true, asked + ", and nobody had its place within 30 s"));
  EXPECT_FALSE(ends(false, asked));
}

TEST(ExternalServerTrackerTest, OneThatCrashesWhileItIsToEndIsNamed) {
  ExternalServerTracker servers(1);
  servers.take(starts(4, 0));
  servers.interrupt();
  servers.end(4, {true, SIGSEGV});
  EXPECT_EQ(servers.status().code(), Code::kServerLost);
}

TEST(ExternalServerTrackerTest, ReportsSchedulerLostBeforeAnswer) {
  ExternalServerTracker servers(2);
  servers.give_up({Code::kSchedulerLost, "gone"});
  EXPECT_TRUE(servers.over());
  EXPECT_EQ(servers.status().code(), Code::kSchedulerLost);
}

TEST(ExternalServerTrackerTest, OrWhereItIsToEndBeforeThatIsNoFailure) {
  ExternalServerTracker servers(2);
  servers.interrupt();
  EXPECT_FALSE(servers.waits());
  servers.give_up({Code::kCancelled, "not waited for"});
  EXPECT_TRUE(servers.over() && servers.status().ok());
}

TEST(ExternalServerTrackerTest, StartsNoServerAfterInterrupt) {
  ExternalServerTracker servers(2);
  servers.take(starts(4, 0));
  servers.interrupt();
  EXPECT_THAT(servers.take(starts(5, 1)).starts, IsEmpty());
  servers.end(4, {});
  EXPECT_TRUE(servers.over());
}

TEST(ExternalServerTrackerTest, ThoseThatStandBySaySo) {
  ExternalServerTracker servers(1);
  servers.stand_by(true);
  servers.take(starts(4, 0));
  EXPECT_THAT(servers.take({.what = What::kIsIn, .server = 4}).notes,
              ElementsAre("server 4 has all that server 0 has, and stands by for it"));
}

}  // namespace
}  // namespace stretto::launch
