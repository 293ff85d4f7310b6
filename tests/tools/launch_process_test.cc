// SPDX-License-Identifier: Apache-2.0
// The launcher as users run it: real processes, real signals, real pipes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "tests/tools/launch_fixture.h"
#include "tools/launch/supervision/supervisor.h"

namespace stretto::launch {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kStay = "remember; tell up; exec sleep 1000";

class LaunchProcess : public LaunchFixture {};

TEST_F(LaunchProcess, LinesCarryTheirProcessAndTheirStream) {
  const std::string worker = script("worker", "echo out; echo err >&2; printf 'no end'");
  script("stretto-server", "echo served");
  const Outcome outcome = run({"-n", "2", "--env=OMP_NUM_THREADS=1", "--", worker});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(Outcome::sorted_lines(outcome.output),
            (Words{"[server 0] served", "[worker 0] no end", "[worker 0] out", "[worker 1] no end",
                   "[worker 1] out"}));
  EXPECT_EQ(Outcome::sorted_lines(outcome.errors), (Words{"[worker 0] err", "[worker 1] err"}));
}

TEST_F(LaunchProcess, LauncherSaysThatItLimitsThreads) {
  const std::string worker = script("worker", "echo threads $OMP_NUM_THREADS");
  const Outcome outcome = run({"-n", "2", worker});
  EXPECT_NE(outcome.output.find("[worker 1] threads 1\n"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.errors,
            "[launcher] OMP_NUM_THREADS=1 for workers that share a host; set it to use more "
            "threads\n");
  EXPECT_EQ(run({worker}).errors, "") << "a worker alone uses all processors";
  EXPECT_EQ(run({"-n", "2", "--env=STRETTO_LOG_LEVEL=warning", worker}).errors, "");
}

TEST_F(LaunchProcess, LinesOfManyProcessesAreNeverMixed) {
  // Each line leaves its process in two pieces, on both streams.
  const std::string worker =
      script("worker",
             "for i in $(seq 200); do printf %2000s . | tr ' ' $RANK; printf %3000s .; echo; "
             "done | tee /dev/stderr");
  const Outcome outcome = run({"-n", "3", "--env=OMP_NUM_THREADS=1", worker});
  EXPECT_EQ(outcome.status, 0);
  for (const std::string& text : {outcome.output, outcome.errors}) {
    const Words lines = Outcome::sorted_lines(text);
    ASSERT_EQ(lines.size(), 600u);
    for (const std::string& line : lines) {
      ASSERT_EQ(line.size(), 5011u);
      ASSERT_EQ(line.substr(11, 1999), std::string(1999, line[8])) << line.substr(0, 40);
    }
  }
}

TEST_F(LaunchProcess, ProgressIsShownBeforeLineEnds) {
  const std::string worker = script("worker",
                                    "printf '\\r 10%%' >&2; printf '\\r 20%%' >&2; await_go; "
                                    "printf '\\r100%%\\nname? ' >&2; await_go; echo >&2");
  start({"--", worker});
  EXPECT_TRUE(await_error("[worker 0]  20%\n"));
  let_go();
  EXPECT_TRUE(await_error("[worker 0] 100%\n[worker 0] name?  ...\n"));
  let_go();
  const Outcome outcome = finish();
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_TRUE(outcome.errors.ends_with("[worker 0] name? \n")) << outcome.errors;
}

TEST_F(LaunchProcess, OutputThatHasNoRoomIsTold) {
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  start({"--", script("worker", "for i in $(seq 100); do echo $i; done")}, full.get());
  const Outcome outcome = finish();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.errors,
            "[launcher] warning: lines for stdout are lost, which cannot be written: No space left "
            "on device; where it is a file, make room there\n");
}

TEST_F(LaunchProcess, ArgumentsArriveAsTheyWereTyped) {
  const std::string worker = script("worker", R"(for word; do printf '<%s>' "$word"; done; echo)");
  EXPECT_EQ(run({"--", worker, "a b", "", "$HOME", "'\"", "--workers", "*"}).output,
            "[worker 0] <a b><><$HOME><'\"><--workers><*>\n");
}

TEST_F(LaunchProcess, AScriptWithoutAnInterpreterRuns) {
  const std::string worker = script("worker", "");
  std::ofstream(worker, std::ios::trunc) << "echo ran\n";
  EXPECT_EQ(run({worker}).output, "[worker 0] ran\n");
}

TEST_F(LaunchProcess, PassesRoleAndRendezvousToProcesses) {
  const char* show =
      "echo $STRETTO_ROLE $STRETTO_RANK $STRETTO_WORLD_SIZE $STRETTO_SERVERS $STRETTO_SCHEDULER "
      "$DMLC_PS_ROOT_PORT $STRETTO_RENDEZVOUS_TIMEOUT_S $EXTRA; "
      "test -n \"$STRETTO_JOB_TOKEN\" && echo $STRETTO_JOB_TOKEN >>$HERE/tokens";
  script("stretto-scheduler", std::string(show) + "; echo 127.0.0.1:45678 >&3; echo $*");
  script("stretto-server", show);
  const Outcome outcome = run(
      {"-n", "2", "-s", "1", "--start-timeout=9", "--env", "EXTRA=more", script("worker", show)});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(Outcome::sorted_lines(outcome.output),
            (Words{"[scheduler] --ready_fd 3", "[scheduler] scheduler 0 2 1 127.0.0.1:0 0 9 more",
                   "[server 0] server 0 2 1 127.0.0.1:45678 45678 9 more",
                   "[worker 0] worker 0 2 1 127.0.0.1:45678 45678 9 more",
                   "[worker 1] worker 1 2 1 127.0.0.1:45678 45678 9 more"}));
  const Words tokens = Outcome::sorted_lines(file("tokens"));
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens.front(), tokens.back());
  EXPECT_EQ(tokens.front().size(), 32u);
}

TEST_F(LaunchProcess, LogFilesHoldProcessOutput) {
  const std::string worker = script("worker", "echo out $RANK; echo err $RANK >&2");
  const std::string logs = folder_ / "deep" / "logs";
  EXPECT_EQ(run({"-n", "2", "--log-dir", logs, worker}).status, 0);
  EXPECT_EQ(Outcome::sorted_lines(file("deep/logs/worker-1.log")), (Words{"err 1", "out 1"}));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "deep/logs/scheduler-0.log"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "deep/logs/server-0.log"));
}

TEST_F(LaunchProcess, UnknownVariableOfEnvIsNamed) {
  const Outcome outcome = run({"--env", "STRETTO_TRANSPROT=tcp", script("worker", "true")});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.errors, testing::HasSubstr("STRETTO_TRANSPROT is set, which nothing of "
                                                 "Stretto reads; is STRETTO_TRANSPORT meant?"));
}

TEST_F(LaunchProcess, MembersKeepStarterOfUser) {
  const Outcome outcome = run({"--env", "STRETTO_STARTER=ssh -4",
                               script("worker", "echo $STRETTO_STARTER, $STRETTO_STARTED_BY")});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, testing::ContainsRegex("\\] ssh -4, [0-9]+:[0-9]+:"));
}

TEST_F(LaunchProcess, LogsOfEarlierJobAreKept) {
  const std::string logs = folder_ / "logs";
  EXPECT_EQ(run({"--log-dir", logs, script("first", "echo first")}).status, 0);
  EXPECT_EQ(run({"--log-dir", logs, script("second", "echo second")}).status, 0);
  EXPECT_THAT(file("logs/worker-0.log"),
              testing::MatchesRegex("first\n--- process started at [0-9TZ:-]+ ---\nsecond\n"));
}

TEST_F(LaunchProcess, MembersInheritNoLogs) {
  const std::string worker = script("worker", "ls -l /proc/self/fd; echo done");
  const std::string logs = folder_ / "logs";
  const Outcome outcome = run({"-n", "2", "--log-dir", logs, worker});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.output.find("[worker 1] done"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find(logs), std::string::npos) << outcome.output;
}

TEST_F(LaunchProcess, ALogThatCannotBeWrittenIsNamedWithTheReason) {
  const std::filesystem::path logs = std::filesystem::path(folder_) / "logs";
  std::filesystem::create_directory(logs);
  std::filesystem::create_symlink("/dev/full", logs / "worker-0.log");
  const Outcome outcome = run({"--log-dir", logs, script("worker", "echo only this")});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.errors.find("cannot write the log of worker 0 any more: No space left"),
            std::string::npos)
      << outcome.errors;
}

TEST_F(LaunchProcess, TheFirstFailureIsNamedAndItsStatusReturned) {
  // The other workers fail too, once they notice the end of worker 2.
  const std::string worker =
      script("worker", "test $RANK = 2 && exit 3; tell up; await_go; exit 1");
  start({"-n", "3", worker});
  told();
  told();
  ASSERT_TRUE(await_error("[launcher] worker 2 exited with status 3;"));
  let_go();
  let_go();
  const Outcome outcome = finish();
  EXPECT_EQ(outcome.status, 3);
  EXPECT_EQ(outcome.last_error(),
            "ERROR ProgramFailed role=worker rank=2 peer=- op=run cause=exited with status 3");
}

TEST_F(LaunchProcess, LastLineRepeatsException) {
  script("stretto-server",
         "trap 'echo ERROR Interrupted role=server rank=0 peer=- op=- cause=a signal >&2; exit 1' "
         "TERM; nap; tell up; forever");
  const std::string worker = script("worker",
                                    "echo 'Traceback (most recent call last):' >&2\n"
                                    "echo 'ValueError: my bug' >&2; await_go; exit 1");
  start({"--settle", "0", worker});
  ASSERT_EQ(told(), "up");
  let_go();
  const Outcome outcome = finish();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.last_error(),
            "ERROR ProgramFailed role=worker rank=0 peer=- op=run cause=exited with status 1, "
            "saying 'ValueError: my bug'");
  EXPECT_EQ(outcome.errors.find("Interrupted"), std::string::npos) << outcome.errors;
}

TEST_F(LaunchProcess, DeathsBySignalAreNamed) {
  script("stretto-server", "kill -SEGV $$");
  const Outcome outcome = run({"--settle", "0", "--grace", "0", script("worker", kStay)});
  EXPECT_EQ(outcome.status, 128 + SIGSEGV);
  EXPECT_EQ(outcome.last_error(),
            "ERROR ServerLost role=server rank=0 peer=- op=run cause=killed by SIGSEGV");
}

TEST_F(LaunchProcess, StragglersAreToldThenKilled) {
  const std::string worker = script("worker",
                                    "remember; nap; trap 'note told' TERM; tell up\n"
                                    "test $RANK = 1 && forever\nawait_go; exit 5");
  start({"-n", "2", "--settle", "0.2", "--grace", "3", worker});
  for (const char* expected : {"up", "up"}) ASSERT_EQ(told(), expected);
  let_go();
  const Outcome outcome = finish();
  EXPECT_EQ(outcome.status, 5);
  EXPECT_EQ(file("notes"), "told\n");
  EXPECT_NE(outcome.errors.find("[launcher] sent SIGKILL to worker 1"), std::string::npos);
  ASSERT_EQ(remembered().size(), 2u);
  for (const pid_t process_id : remembered()) EXPECT_TRUE(gone(process_id));
}

TEST_F(LaunchProcess, ServersThatStayAreEndedAfterTheWork) {
  script("stretto-server", kStay);
  start({"--drain", "0.1", script("worker", "await_go")});
  ASSERT_EQ(told(), "up");
  let_go();
  const Outcome outcome = finish();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.errors.find(", still running "), std::string::npos);
  ASSERT_EQ(remembered().size(), 1u);
  EXPECT_TRUE(gone(remembered()[0]));
}

TEST_F(LaunchProcess, EndsServersSoonIfNoJobBegan) {
  script("stretto-scheduler", "remember; echo 127.0.0.1:45678 >&3; exec sleep 1000");
  const Outcome outcome = run({"--drain", "1000", script("worker", "exit 0")});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.errors.find("as all workers have ended and no job began"), std::string::npos)
      << outcome.errors;
  ASSERT_EQ(remembered().size(), 1u);
  EXPECT_TRUE(gone(remembered()[0]));
}

TEST_F(LaunchProcess, SigtermReachesEachProcessOnce) {
  const std::string worker = script("worker",
                                    "nap; trap 'note term; tell term' TERM; trap 'exit 0' USR1\n"
                                    "remember; tell up; forever");
  start({"-n", "2", worker});
  for (const char* expected : {"up", "up"}) ASSERT_EQ(told(), expected);
  ::kill(launcher_, SIGTERM);
  for (const char* expected : {"term", "term"}) ASSERT_EQ(told(), expected);
  ::kill(launcher_, SIGTERM);
  ::kill(launcher_, SIGHUP);
  for (const pid_t process_id : remembered()) ::kill(process_id, SIGUSR1);
  const Outcome outcome = finish();
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(file("notes"), "term\nterm\n");
}

TEST_F(LaunchProcess, SigtermIsNotForTheChildrenOfAWorker) {
  script("child", "nap; trap 'note child' TERM; trap done=1 USR1; tell up; forever");
  const std::string worker =
      script("worker",
             "$HERE/child & child=$!\n"
             "trap 'note worker; kill -USR1 $child; wait $child; exit 0' TERM\n"
             "tell up; wait");
  start({worker});
  for (const char* expected : {"up", "up"}) ASSERT_EQ(told(), expected);
  ::kill(launcher_, SIGTERM);
  EXPECT_EQ(finish().status, 0);
  EXPECT_EQ(file("notes"), "worker\n");
}

TEST_F(LaunchProcess, SignalReachesProcessInsideWrapper) {
  script("inner", "nap; trap 'note told; exit 0' TERM; tell up; forever");
  start({script("wrapper", "$HERE/inner; true")});
  ASSERT_EQ(told(), "up");
  ::kill(launcher_, SIGTERM);
  const Outcome outcome = finish();
  EXPECT_EQ(outcome.status, 128 + SIGTERM);
  EXPECT_EQ(file("notes"), "told\n");
  EXPECT_EQ(outcome.last_error().substr(0, 43), "ERROR Interrupted role=worker rank=0 peer=-");
}

TEST_F(LaunchProcess, SigintReachesProcessGroup) {
  start({script("worker", "trap 'note int; exit 7' INT; (tell up; exec sleep 1000)")});
  ASSERT_EQ(told(), "up");
  ::kill(launcher_, SIGINT);
  EXPECT_EQ(finish().status, 7);
  EXPECT_EQ(file("notes"), "int\n");
}

TEST_F(LaunchProcess, OrphansEndWithTheJob) {
  script("daemon", kStay);
  start({script("worker", "setsid $HERE/daemon & await_go")});
  ASSERT_EQ(told(), "up");
  let_go();
  EXPECT_EQ(finish().status, 0);
  ASSERT_EQ(remembered().size(), 1u);
  EXPECT_TRUE(gone(remembered()[0]));
}

TEST_F(LaunchProcess, KilledLauncherLeavesNoProcess) {
  script("stretto-scheduler", std::string("echo 127.0.0.1:45678 >&3; ") + kStay);
  script("stretto-server", kStay);
  start({"-n", "2", script("worker", kStay)});
  for (int i = 0; i < 4; ++i) ASSERT_EQ(told(), "up");
  ::kill(launcher_, SIGKILL);
  EXPECT_EQ(finish().status, 128 + SIGKILL);
  ASSERT_EQ(remembered().size(), 4u);
  for (const pid_t process_id : remembered()) EXPECT_TRUE(gone(process_id));
}

TEST_F(LaunchProcess, AReaderThatStopsHidesNoFailure) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const std::string worker = script("worker",
                                    "test $RANK = 0 && { await_go; exit 3; }; tell up; "
                                    "exec head -c 8000000 /dev/zero");
  start({"-n", "2", "--settle", "0.1", "--grace", "0.1", worker}, writer.get());
  writer.close();
  ASSERT_EQ(told(), "up");
  let_go();
  // Although nothing has been read, the launcher detects the failure and acts on it.
  ASSERT_TRUE(await_error("[launcher] sent SIGTERM to worker 1"));
  std::array<char, 65536> bytes;
  while (::read(reader.get(), bytes.data(), bytes.size()) > 0) {
  }
  EXPECT_EQ(finish().status, 3);
}

// A batch system that stops the job does not wait for a stuck reader of its output.
TEST_F(LaunchProcess, SigtermEndsLauncherWithUnreadOutput) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  start({"--grace", "0.1", script("worker", "tell up; exec head -c 8000000 /dev/zero")},
        writer.get());
  writer.close();
  ASSERT_EQ(told(), "up");
  ::kill(launcher_, SIGTERM);
  ASSERT_TRUE(await_error("[launcher] sent SIGTERM to"));
  EXPECT_EQ(finish().status, 128 + SIGTERM);
}

TEST_F(LaunchProcess, AReaderThatLeavesDoesNotEndTheJob) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  reader.close();
  start({script("worker", "seq 100000; note finished")}, writer.get());
  EXPECT_EQ(finish().status, 0);
  EXPECT_EQ(file("notes"), "finished\n");
}

TEST_F(LaunchProcess, ASchedulerThatFailsIsNamed) {
  const std::string worker = script("worker", "note ran");
  script("stretto-scheduler", "exit 4");
  Outcome outcome = run({worker});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_EQ(outcome.last_error(),
            "ERROR SchedulerLost role=scheduler rank=0 peer=- op=start cause=exited with status 4 "
            "before it said where it listens");
  script("stretto-scheduler", std::string("echo nonsense >&3; ") + kStay);
  outcome = run({"--grace=0", worker});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.last_error().substr(0, 36), "ERROR Malformed role=scheduler rank=");
  script("stretto-scheduler", kStay);
  outcome = run({"--start-timeout=0.1", "--grace=0", worker});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.last_error().substr(0, 43), "ERROR RendezvousTimeout role=scheduler rank");
  EXPECT_EQ(file("notes"), "");
}

TEST_F(LaunchProcess, NamesProgramThatCannotExecute) {
  Outcome outcome = run({"no-such-program"});
  EXPECT_EQ(outcome.status, 127);
  EXPECT_EQ(outcome.errors,
            "ERROR InvalidArgument role=launcher rank=- peer=- op=start cause=cannot execute "
            "'no-such-program': not found in PATH\n");
  const std::string worker = folder_ / "worker";
  std::ofstream(worker) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
  outcome = run({worker});
  EXPECT_EQ(outcome.status, 127);
  EXPECT_EQ(outcome.last_error(),
            "ERROR InvalidArgument role=worker rank=0 peer=- op=start cause=cannot execute '" +
                worker + "': No such file or directory");
}

TEST_F(LaunchProcess, WrongUseIsRefusedWithStatus2) {
  EXPECT_EQ(run({"--wrokers=2", "x"}).status, 2);
  EXPECT_EQ(run({"--via=ssh", "x"}).last_error(),
            "ERROR InvalidArgument: --via ssh needs hosts: --hostfile FILE with a line `host "
            "slots=N` each, or -H host:slots,... (role=launcher rank=- peer=- op=arguments)");
  EXPECT_EQ(run({"--help"}).output.substr(0, 22), "usage: stretto-launch ");
  EXPECT_EQ(run({"--version"}).status, 0);
}

TEST_F(LaunchProcess, ADryRunStartsNothing) {
  const Outcome outcome = run({"--dry-run", script("worker", "note ran")});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(Outcome::sorted_lines(outcome.output).size(), 4u);
  EXPECT_EQ(file("notes"), "");
}

TEST_F(LaunchProcess, ACheckNamesAllThatIsWrong) {
  script("stretto-scheduler", "echo stretto-scheduler 0.0.9");
  script("stretto-server", "exit 9");
  Outcome outcome = run({"--check", "no-such-program"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("PROBLEM " + folder_.string() + "/stretto-scheduler reports"),
            std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("/stretto-server --version' exited with status 9"),
            std::string::npos);
  EXPECT_NE(outcome.output.find("'no-such-program': not found in PATH"), std::string::npos);
}

}  // namespace
}  // namespace stretto::launch
