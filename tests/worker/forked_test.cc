// SPDX-License-Identifier: Apache-2.0
// A child forked from a worker's process: every call fails at once with the reason, and the
// parent's worker is unaffected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stretto/checkpoints.h"
#include "stretto/group.h"
#include "stretto/steps.h"
#include "tests/worker/live_cluster.h"
#include "tests/worker/whole_numbers.h"

namespace stretto {
namespace {

using live::Cluster;
using live::Floats;

constexpr unsigned kPatience = 20;  // Seconds until a hung child is killed.

/// The exit status of a child that runs `program`; 1000 plus the signal if one killed it.
template <typename Program>
int ended(Program program) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kPatience);
    ::_exit(program());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

bool refused(const Status& status) {
  return status.code() == Code::kInvalidArgument &&
         status.cause().find("was forked") != std::string::npos;
}

TEST(Forked, EveryCallOfAWorkerEndsAndTheParentsIsAsItWas) {
  Cluster cluster({.workers = 1});
  cluster.run([](Worker& worker) {
    const Tensor tensor = live::declare(worker, "x", Dtype::kF32, 1000);
    const Tensor nobodys = live::declare(worker, "y", Dtype::kF32, 10);
    Floats mine(1000, 2.0F);
    Floats sum(1000);
    Floats never(10);
    const Ticket waits = worker.pull(nobodys, std::as_writable_bytes(std::span(never)));
    int which = 0;
    const auto calls = [&] {
      for (const Status& status :
           {worker.declare("z", Dtype::kF32, 1).status(), worker.push(tensor, mine).wait(),
            worker.pull(tensor, sum).wait(), worker.push_pull(tensor, mine, sum).wait(),
            worker.broadcast(tensor, std::as_writable_bytes(std::span(sum)), 0).wait(),
            worker.probe(tensor).wait(), worker.barrier(), worker.save_state(tensor).status(),
            worker.load_state(tensor, {}), worker.sit_out().status(), Group::of(worker).status(),
            ProgramSteps(worker).next().status(), Checkpoints(worker).save(1), worker.leave()}) {
        ++which;
        if (!refused(status)) return which;
      }
      return 0;
    };
    EXPECT_EQ(ended(calls), 0) << "of these calls";
    EXPECT_EQ(ended([&] { return waits.done() || refused(waits.wait()) ? 0 : 1; }), 0);
    EXPECT_EQ(ended([&] {
                const Worker gone = std::move(worker);
                return 0;
              }),
              0);
    waits.cancel();
    EXPECT_TRUE(worker.push_pull(tensor, mine, sum).wait().ok());
    EXPECT_EQ(sum, mine);
    EXPECT_TRUE(worker.barrier().ok());
  });
  EXPECT_THAT(cluster.outcomes(), testing::Each(testing::Property(&Status::ok, true)));
}

}  // namespace
}  // namespace stretto
