// SPDX-License-Identifier: Apache-2.0
// The launcher of an elastic job, whose scheduler is a script that announces lost workers.
#include <signal.h>

#include "tests/tools/launch_fixture.h"

namespace stretto::launch {
namespace {

constexpr const char* kHere = "echo 127.0.0.1:45678 >&3; echo all are here >&3; await_go;";

class LaunchElastic : public LaunchFixture {};

// More announcements than one read returns, as after the loss of a host with many workers.
TEST_F(LaunchElastic, ManyLossesAtOnceAreAllHeardAndSoIsTheNext) {
  script("stretto-scheduler",
         std::string(kHere) +
             "for i in $(seq 0 29); do lost=\"${lost}the job goes on without worker $i\n\"; done; "
             "printf '%s' \"$lost\" >&3; await_go; echo the job goes on without worker 30 >&3; "
             "await_go");
  start({"-n", "1:32", "--settle", "0", "--", script("worker", "tell up; exec sleep 1000")});
  for (int worker = 0; worker < 32; ++worker) told();
  let_go();
  ASSERT_TRUE(await_error("worker 29 is lost; the job goes on without it"));
  let_go();
  EXPECT_TRUE(await_error("worker 30 is lost; the job goes on without it"));
  ::kill(launcher_, SIGTERM);
  EXPECT_NE(finish().status, 0);
}

}  // namespace
}  // namespace stretto::launch
