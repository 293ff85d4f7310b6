// SPDX-License-Identifier: Apache-2.0
// The root cause: the blamed member and the reason, by exit records and survivors' errors.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "common/config/program.h"
#include "common/program_failed.h"
#include "tools/launch/supervision/root_cause.h"

namespace stretto::launch::verdicts {
namespace {

// Indices of the members of every job here.
constexpr std::size_t kScheduler = 0;
constexpr std::size_t kServer = 1;
constexpr std::size_t kWorker0 = 2;
constexpr std::size_t kWorker1 = 3;
constexpr std::size_t kWorker2 = 4;
const std::vector<JobMember> kMembers = {{Role::kScheduler, 0},
                                         {Role::kServer, 0},
                                         {Role::kWorker, 0},
                                         {Role::kWorker, 1},
                                         {Role::kWorker, 2}};
constexpr Exit kFine{false, 0};
constexpr Exit kFailed{false, 1};
constexpr Exit kOfLoss{false, kExitOfLoss};
constexpr Exit kKilled{true, SIGKILL};

// The exit record of one member. Members that a case does not list are still running.
struct Known {
  std::size_t member;
  std::optional<Exit> exit;
  std::optional<ErrorLine> said = {};
  Duration after = {};
  bool told = false;
  Status lost = {};
  bool forgiven = false;
};

struct Case {
  std::string name;
  std::vector<Known> known;
  std::string verdict;  // The exit status and the last line.
  std::optional<int> interrupt = {};
};

JobEvidence evidence_of(const Case& a_case) {
  JobEvidence evidence;
  for (const JobMember& member : kMembers) {
    evidence.members.emplace_back(member);
    evidence.members.back().life = MemberRecord::Life::kAlive;
  }
  for (const Known& known : a_case.known) {
    MemberRecord& witness = evidence.members[known.member];
    witness.exit = known.exit;
    witness.said = known.said;
    witness.at = Time(100s) + known.after;
    witness.told = known.told;
    witness.lost = known.lost;
    witness.forgiven = known.forgiven;
    if (known.exit || !known.lost.ok()) witness.life = MemberRecord::Life::kEnded;
  }
  evidence.interrupt = a_case.interrupt;
  return evidence;
}

std::string text_of(const Verdict& verdict) {
  if (verdict.error.ok()) return std::to_string(verdict.exit_status);
  const std::string role(verdict.who ? name_of(verdict.who->role) : "launcher");
  const std::int64_t rank = verdict.who ? std::int64_t{verdict.who->rank} : -1;
  return fmt::format("{} {}", verdict.exit_status, verdict.error.error_line(role, rank));
}

ErrorLine lost(Code code, const std::string& peer, const std::string& cause) {
  return {code, peer, cause};
}

const ErrorLine kNoServer =
    lost(Code::kServerLost, "server 0", "server 0 is lost: nothing heard of it for 5.1 s");
const ErrorLine kNoWorker1 =
    lost(Code::kPeerLost, "worker 1", "worker 1 is lost: the connection has ended");
const ErrorLine kNoScheduler =
    lost(Code::kSchedulerLost, "scheduler", "nothing heard of the scheduler for 5.0 s");
const ErrorLine kSchedulerTold =
    lost(Code::kInterrupted, "scheduler", "the scheduler was asked to end by a signal");
const ErrorLine kMissing1 =
    lost(Code::kRendezvousTimeout, "worker 1", "not everybody came within 5 s; missing: worker 1");
const ErrorLine kCut = lost(Code::kLinkBroken, "server 0", "worker 0 lost its link to server 0");

const std::vector<Case> kCases = {
    {"all workers succeed, whatever servers do",
     {{kScheduler, kKilled},
      {kServer, kFailed},
      {kWorker0, kFine},
      {kWorker1, kFine},
      {kWorker2, kFine}},
     "0"},
    {"a stopped server, killed as lost",
     {{kServer, kKilled, {}, 6s, true},
      {kWorker0, kFailed, kNoServer},
      {kWorker1, kFailed, kNoServer},
      {kWorker2, kFailed},
      {kScheduler, kOfLoss, kNoServer, 1s}},
     "1 ERROR ServerLost role=server rank=0 peer=- op=run cause=nothing heard of it for 5.1 s, say "
     "scheduler, worker 0 and worker 1"},
    {"a stopped scheduler, while workers without a line of ours end first",
     {{kWorker0, kFailed},
      {kWorker1, kFailed},
      {kWorker2, kFailed},
      {kServer, kOfLoss, kNoScheduler, 2s}},
     "1 ERROR SchedulerLost role=scheduler rank=0 peer=- op=run cause=nothing heard of the "
     "scheduler for 5.0 s, says server 0"},
    {"a server told to end by somebody else",
     {{kServer, kFailed, lost(Code::kInterrupted, "-", "the server was asked to end")},
      {kWorker0, kFailed, lost(Code::kServerLost, "server 0", "the link broke")},
      {kWorker1, kFailed},
      {kWorker2, kFailed},
      {kScheduler, kOfLoss, lost(Code::kServerLost, "server 0", "the link broke")}},
     "1 ERROR ServerLost role=server rank=0 peer=- op=run cause=exited with status 1, saying "
     "'Interrupted: the server was asked to end'"},
    {"a scheduler told to end by somebody else",
     {{kWorker0, kFailed, kSchedulerTold},
      {kWorker1, kFailed, kSchedulerTold},
      {kWorker2, kFailed},
      {kServer, kFailed, kSchedulerTold},
      {kScheduler, kFailed, kSchedulerTold, 400ms}},
     "1 ERROR SchedulerLost role=scheduler rank=0 peer=- op=run cause=exited with status 1, saying "
     "'Interrupted: the scheduler was asked to end by a signal'"},
    {"a worker that exits with 0 in the middle",
     {{kWorker1, kFine},
      {kWorker0, kFailed, kNoWorker1},
      {kWorker2, kFailed, kNoWorker1},
      {kServer, kOfLoss, kNoWorker1},
      {kScheduler, kOfLoss, kNoWorker1}},
     "1 ERROR PeerLost role=worker rank=1 peer=- op=run cause=exited with status 0 while others "
     "needed it: the connection has ended, say scheduler, server 0, worker 0 and worker 2"},
    {"a worker that leaves early makes another fail, whom all others name",
     {{kWorker1, kFine},
      {kWorker0, kFailed, lost(Code::kPeerLost, "worker 1", "worker 1 has left the job")},
      {kWorker2, kFailed, lost(Code::kPeerLost, "worker 0", "worker 0 is lost: it ended")},
      {kServer, kOfLoss, lost(Code::kPeerLost, "worker 0", "worker 0 is lost: it ended")},
      {kScheduler, kOfLoss, lost(Code::kPeerLost, "worker 0", "worker 0 is lost: it ended")}},
     "1 ERROR PeerLost role=worker rank=1 peer=- op=run cause=exited with status 0 while others "
     "needed it: worker 1 has left the job, says worker 0"},
    {"a killed worker, whose end is seen late",
     {{kWorker0, kFailed, kNoWorker1},
      {kServer, kOfLoss, kNoWorker1},
      {kScheduler, kOfLoss, kNoWorker1},
      {kWorker2, kFailed},
      {kWorker1, kKilled, {}, 3s}},
     "137 ERROR PeerLost role=worker rank=1 peer=- op=run cause=killed by SIGKILL"},
    {"who was stopped and goes on names the scheduler, in vain",
     {{kWorker1, kFailed, kNoScheduler, 8s},
      {kWorker0, kFailed, kNoWorker1},
      {kWorker2, kFailed, kNoWorker1},
      {kServer, kOfLoss, kNoWorker1},
      {kScheduler, kOfLoss, kNoWorker1}},
     "1 ERROR PeerLost role=worker rank=1 peer=- op=run cause=exited with status 1, saying "
     "'SchedulerLost: nothing heard of the scheduler for 5.0 s'"},
    {"who cannot go on for want of another is not to blame for its end",
     {{kWorker0, kFailed, lost(Code::kTimeout, "worker 1", "worker 1 did not push")},
      {kServer, kOfLoss, lost(Code::kPeerLost, "worker 0", "worker 0 is lost: it ended")},
      {kScheduler, kOfLoss, lost(Code::kPeerLost, "worker 0", "worker 0 is lost: it ended")},
      {kWorker2, kFailed},
      {kWorker1, kKilled, {}, 20s, true}},
     "1 ERROR Timeout role=worker rank=1 peer=- op=run cause=worker 1 did not push, says worker 0"},
    {"a worker that others waited for loses them afterwards",
     {{kWorker1, kFailed, lost(Code::kTimeout, "worker 0", "worker 0 did not push")},
      {kServer, kOfLoss, kNoWorker1},
      {kScheduler, kOfLoss, kNoWorker1},
      {kWorker0, kFailed, kNoWorker1, 1s}},
     "1 ERROR Timeout role=worker rank=0 peer=- op=run cause=worker 0 did not push, says worker 1"},
    {"an error of its own, that names somebody",
     {{kWorker0, kFailed, lost(Code::kMismatch, "worker 1", "f32 against i32")},
      {kScheduler, kOfLoss, lost(Code::kPeerLost, "worker 0", "worker 0 is lost: it ended")}},
     "1 ERROR ProgramFailed role=worker rank=0 peer=- op=run cause=exited with status 1, saying "
     "'Mismatch: f32 against i32'"},
    {"a member that never came",
     {{kWorker0, kFailed, kMissing1},
      {kServer, kFailed, kMissing1},
      {kScheduler, kFailed, kMissing1},
      {kWorker1, Exit{true, SIGTERM}, {}, 1s, true}},
     "1 ERROR RendezvousTimeout role=worker rank=1 peer=- op=start cause=not everybody came within "
     "5 s; missing: worker 1, say scheduler, server 0 and worker 0"},
    {"of several that never came, the one whose end was seen",
     {{kScheduler, kFailed, lost(Code::kRendezvousTimeout, "server 0, worker 2", "missing")},
      {kWorker2, kFine}},
     "1 ERROR RendezvousTimeout role=worker rank=2 peer=- op=start cause=exited with status 0 "
     "while others needed it: missing, says scheduler"},
    {"a link between two that live",
     {{kWorker0, kFailed, kCut}, {kWorker1, kFailed, kCut}, {kScheduler, kFailed, kCut}},
     "1 ERROR LinkBroken role=launcher rank=- peer=server 0 op=run cause=worker 0 lost its link to "
     "server 0, say scheduler, worker 0 and worker 1"},
    {"shards are their server's",
     {{kScheduler, kOfLoss, lost(Code::kServerLost, "server 0 shard 1", "gone")}},
     "1 ERROR ServerLost role=server rank=0 peer=- op=run cause=gone, says scheduler"},
    {"the scheduler decides between as many votes",
     {{kScheduler, kOfLoss, kNoWorker1}, {kWorker0, kFailed, kNoServer}},
     "1 ERROR PeerLost role=worker rank=1 peer=- op=run cause=the connection has ended, says "
     "scheduler"},
    {"a lost host, one of whose members the others miss",
     {{kWorker1, {}, {}, 1s, true, {Code::kTimeout, "nothing heard of the agent on h1"}},
      {kWorker0, kFailed, kNoWorker1, 500ms},
      {kScheduler, kOfLoss, kNoWorker1, 500ms}},
     "1 ERROR Timeout role=worker rank=1 peer=- op=- cause=nothing heard of the agent on h1"},
    {"without any word: a signal's death, seen within half a second",
     {{kWorker0, kFailed}, {kServer, kKilled, {}, 400ms}},
     "137 ERROR ServerLost role=server rank=0 peer=- op=run cause=killed by SIGKILL"},
    {"without any word: of statuses a worker's, then a server's",
     {{kScheduler, kFailed}, {kServer, kFailed}, {kWorker1, Exit{false, 3}, {}, 1ms}},
     "3 ERROR ProgramFailed role=worker rank=1 peer=- op=run cause=exited with status 3"},
    {"without any word: of statuses a server's before the scheduler's",
     {{kScheduler, kFailed}, {kServer, Exit{false, 3}, {}, 1ms}},
     "3 ERROR ServerLost role=server rank=0 peer=- op=run cause=exited with status 3"},
    {"without any word: not one seen later",
     {{kWorker0, kFailed}, {kServer, kKilled, {}, 600ms}},
     "1 ERROR ProgramFailed role=worker rank=0 peer=- op=run cause=exited with status 1"},
    {"who says by its status that it followed is not the cause, however late the other ends",
     {{kServer, kOfLoss}, {kWorker1, Exit{false, 3}, {}, 2s}},
     "3 ERROR ProgramFailed role=worker rank=1 peer=- op=run cause=exited with status 3"},
    {"a notice to all",
     {{kServer, Exit{true, SIGTERM}, {}, {}, true},
      {kWorker0, kFine, {}, {}, true},
      {kWorker1, Exit{true, SIGTERM}, {}, {}, true},
      {kWorker2, kFine, {}, {}, true}},
     "143 ERROR Interrupted role=worker rank=1 peer=- op=run cause=killed by SIGTERM after the "
     "launcher was sent SIGTERM",
     SIGTERM},
    {"a notice long after a loss that the job went on without",
     {{kWorker0, kKilled, {}, -60s, false, {}, true},
      {kWorker1, Exit{true, SIGINT}, {}, {}, true},
      {kWorker2, Exit{true, SIGINT}, {}, {}, true}},
     "130 ERROR Interrupted role=worker rank=1 peer=- op=run cause=killed by SIGINT after the "
     "launcher was sent SIGINT",
     SIGINT},
    {"a scheduler that does not begin says why",
     {{kScheduler,
       kFailed,
       lost(Code::kInvalidArgument, "-", "nothing is there"),
       {},
       false,
       Status(Code::kSchedulerLost, "exited with status 1 before it said where it listens")
           .with_operation("start")}},
     "1 ERROR InvalidArgument role=scheduler rank=0 peer=- op=start cause=exited with status 1 "
     "before "
     "it said where it listens, saying 'InvalidArgument: nothing is there'"},
    {"a program that failed says why, whatever the others make of its end",
     {{kWorker1, kFailed, lost(kProgramFailed, "-", "ValueError: my bug")},
      {kWorker0, kFailed, kNoWorker1},
      {kScheduler, kOfLoss, kNoWorker1}},
     "1 ERROR ProgramFailed role=worker rank=1 peer=- op=run cause=exited with status 1, saying "
     "'ValueError: my bug'"},
    {"a program that aborts of an exception",
     {{kWorker1, Exit{true, SIGABRT}, lost(kProgramFailed, "-", "std::runtime_error: my bug")}},
     "134 ERROR ProgramFailed role=worker rank=1 peer=- op=run cause=killed by SIGABRT, saying "
     "'std::runtime_error: my bug'"},
    {"a program that a signal kills long after an exception that it handled",
     {{kWorker1, kKilled, lost(kProgramFailed, "-", "ValueError: my bug")}},
     "137 ERROR PeerLost role=worker rank=1 peer=- op=run cause=killed by SIGKILL"},
    {"a worker that a signal asked to end has not failed by itself",
     {{kWorker1, kFailed, lost(Code::kInterrupted, "-", "a signal came")}},
     "1 ERROR PeerLost role=worker rank=1 peer=- op=run cause=exited with status 1, saying "
     "'Interrupted: a signal came'"},
    {"a notice after a failure",
     {{kWorker0, Exit{false, 3}}, {kWorker1, Exit{true, SIGTERM}, {}, {}, true}},
     "3 ERROR ProgramFailed role=worker rank=0 peer=- op=run cause=exited with status 3",
     SIGTERM},
};

TEST(LaunchVerdict, DerivesVerdictFromEvidence) {
  for (const Case& one : kCases) {
    EXPECT_EQ(text_of(judge(evidence_of(one))), one.verdict) << one.name;
  }
}

TEST(LaunchVerdict, TheOrderInWhichEvidenceComesDoesNotMatter) {
  for (Case one : kCases) {
    std::reverse(one.known.begin(), one.known.end());
    EXPECT_EQ(text_of(judge(evidence_of(one))), one.verdict) << one.name;
  }
}

TEST(LaunchVerdict, GivesUpMemberLostToScheduler) {
  const auto given = [](const std::vector<Known>& known) {
    return given_up(evidence_of({"", known, ""}));
  };
  using Members = std::vector<std::size_t>;
  EXPECT_EQ(given({{kScheduler, kOfLoss, kNoServer}}), Members{kServer});
  EXPECT_EQ(given({{kWorker0, kFailed, kNoServer}}), Members{}) << "a link may have broken";
  EXPECT_EQ(given({{kScheduler, {}, kNoServer}}), Members{}) << "it has not ended by that";
  EXPECT_EQ(given({{kScheduler, kOfLoss, kNoServer}, {kServer, kKilled}}), Members{});
  EXPECT_EQ(given({{kScheduler, kOfLoss, kNoServer}, {kServer, {}, {}, {}, true}}), Members{});
  EXPECT_EQ(given({{kScheduler, kFailed, kCut}}), Members{}) << "both ends of a link live";
  EXPECT_EQ(given({{kScheduler, kFailed, kMissing1}}), Members{}) << "it may be slow to start";
}

TEST(LaunchVerdict, TheSchedulerIsGivenUpOnceAllOthersHaveEnded) {
  std::vector<Known> known = {
      {kServer, kOfLoss, kNoScheduler}, {kWorker0, kFailed, kNoScheduler}, {kWorker1, kFailed}};
  EXPECT_TRUE(given_up(evidence_of({"", known, ""})).empty());
  known.push_back({kWorker2, kFailed});
  EXPECT_EQ(given_up(evidence_of({"", known, ""})), std::vector<std::size_t>{kScheduler});
}

TEST(LaunchVerdict, ProgramSpeaksBeforeItHasJoined) {
  const JobMember worker{Role::kWorker, 3};
  const Status status(Code::kInvalidArgument, "mode 'egear' is not known");
  EXPECT_EQ(statement_of(status.error_line("digits", -1), worker),
            (ErrorLine{Code::kInvalidArgument, "-", "mode 'egear' is not known"}));
  EXPECT_FALSE(statement_of(status.error_line("digits", -1), {Role::kServer, 3}));
  EXPECT_FALSE(statement_of(status.error_line("digits", 2), worker));
  for (const char* other : {"scheduler", "server", "launcher", "agent"}) {
    EXPECT_FALSE(statement_of(status.error_line(other, -1), worker)) << other;
  }
}

TEST(LaunchVerdict, ToldMemberAnswersNotice) {
  MemberRecord witness({Role::kServer, 0});
  const std::string line = Status(Code::kInterrupted, "a signal").error_line("server", 0);
  EXPECT_FALSE(answers_notice(witness, line)) << "another process may have sent the signal";
  witness.told = true;
  EXPECT_TRUE(answers_notice(witness, line));
  EXPECT_FALSE(answers_notice(witness, Status(Code::kResource, "full").error_line("server", 0)));
  EXPECT_FALSE(answers_notice(witness, "asked to end"));
}

TEST(LaunchVerdict, AnErrorLineIsAStatementOfItsOwnSpeaker) {
  const JobMember worker{Role::kWorker, 3};
  const Status status =
      Status(Code::kPeerLost, "it ended").with_peer("worker 1").with_operation("push a=b");
  EXPECT_EQ(statement_of(status.error_line("worker", 3), worker),
            (ErrorLine{Code::kPeerLost, "worker 1", "it ended"}));
  EXPECT_EQ(statement_of(status.error_line("worker", -1), worker)->peer, "worker 1");
  const std::string python =
      "stretto.errors.PeerLost: push_pull 'w': worker 1 has left (the job) (peer: worker 1)";
  EXPECT_EQ(statement_of(python, worker),
            (ErrorLine{Code::kPeerLost, "worker 1", "push_pull 'w': worker 1 has left (the job)"}));
  EXPECT_FALSE(statement_of(python, {Role::kServer, 3})) << "no Python there";
  EXPECT_EQ(statement_of("stretto.errors.NotFinite: at 3: nan", worker),
            (ErrorLine{Code::kNotFinite, "-", "at 3: nan"}));
  for (const char* other :
       {"stretto.errors.PeerLost", "stretto.errors.Nonsense: x (peer: worker 1)",
        "stretto.errors.Ok: (peer: x)", "  stretto.errors.PeerLost: x (peer: worker 1)"}) {
    EXPECT_FALSE(statement_of(other, worker)) << other;
  }
  for (const std::string& line :
       {status.error_line("worker", 2), status.error_line("server", 3), std::string("ERROR"),
        std::string("ERROR PeerLost role=worker rank=3 peer=worker 1"), std::string(),
        "x " + status.error_line("worker", 3),
        std::string("ERROR Nonsense role=worker rank=3 peer=- op=- cause=-"),
        std::string("ERROR Ok role=worker rank=3 peer=- op=- cause=-")}) {
    EXPECT_FALSE(statement_of(line, worker)) << line;
  }
}

}  // namespace
}  // namespace stretto::launch::verdicts
