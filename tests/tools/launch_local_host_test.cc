// SPDX-License-Identifier: Apache-2.0
// Processes of this host: the resources that remain after their end.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <map>

#include "tools/launch/process/local_host.h"

namespace stretto::launch {
namespace {

struct LocalEnds final : HostEvents {
  void on_refused(std::size_t, Status why) override { FAIL() << why.cause(); }
  void on_ready(std::string_view) override {}
  void on_output(std::size_t, std::size_t, std::string_view) override {}
  void on_ended(std::size_t member, Exit exit) override { ended[member] = exit; }

  std::map<std::size_t, Exit> ended;
};

std::size_t open_pidfds() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(each.path(), gone).string();
    if (target.find("[pidfd]") != std::string::npos) ++count;
  }
  return count;
}

class LaunchLocalHost : public testing::Test {
 protected:
  void start(std::size_t member, const std::string& script) {
    host_.start(member, {"/bin/sh", {"sh", "-c", script}, {}, {}}, false);
  }
  void run_until_ended(std::size_t members) {
    const Time end = clock_.now() + 60s;
    while (events_.ended.size() < members && clock_.now() < end) poller_.turn(1s);
    ASSERT_EQ(events_.ended.size(), members);
  }

  SteadyClock clock_;
  Poller poller_;
  LocalEnds events_;
  SignalState signals_;
  LocalHost host_{poller_, events_, signals_, clock_};
};

TEST_F(LaunchLocalHost, EndedProcessHoldsNoDescriptor) {
  const std::size_t before = open_pidfds();
  for (std::size_t member = 0; member < 3; ++member) start(member, "exit 3");
  run_until_ended(3);
  EXPECT_EQ(open_pidfds(), before);
  EXPECT_EQ(events_.ended.at(2).text(), "exited with status 3");
  EXPECT_EQ(host_.finish(1s), 0U);
}

// The kernel does the same to a background process group that reads the terminal.
TEST_F(LaunchLocalHost, ProcessStoppedByTerminalIsKilled) {
  start(0, "kill -TTIN $$; exit 0");
  const Time end = clock_.now() + 60s;
  while (events_.ended.empty() && clock_.now() < end) {
    host_.reap_orphans();  // As on SIGCHLD.
    poller_.turn(10ms);
  }
  EXPECT_EQ(events_.ended.at(0).text(),
            "killed by SIGKILL after SIGTTIN had stopped it: it reads from the terminal, which "
            "members of a job cannot do; give it input by a file");
  EXPECT_EQ(host_.finish(1s), 0U);
}

TEST_F(LaunchLocalHost, OtherStopsKillNothing) {
  start(0, "(sleep 0.1; kill -CONT $$) & kill -STOP $$; exit 4");
  const Time end = clock_.now() + 60s;
  while (events_.ended.empty() && clock_.now() < end) {
    host_.reap_orphans();
    poller_.turn(10ms);
  }
  EXPECT_EQ(events_.ended.at(0).text(), "exited with status 4");
  EXPECT_EQ(host_.finish(1s), 0U);
}

}  // namespace
}  // namespace stretto::launch
