// SPDX-License-Identifier: Apache-2.0
// What is refused once a worker leaves, and why a job has ended.
#include "worker/request_dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"

namespace stretto {
namespace {

using namespace std::chrono_literals;

class RequestDispatcherTest : public testing::Test {
 protected:
  std::function<void(const Status&)> note() {
    return [this](const Status& status) { heard_.push_back(status.code()); };
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  const Config config_ = fake::config(Role::kWorker);
  Van van_{fake::scripted_transport(wire_), clock_};
  MembershipClient membership_{config_, {}, van_, clock_};
  ShardLinks links_{van_};
  TraceAgent trace_{config_, van_};
  RequestDispatcher work_{
      config_, clock_, van_, membership_, links_, trace_, std::make_unique<CodecExecutor>()};
  std::vector<Code> heard_;
};

TEST_F(RequestDispatcherTest, AllRequestsAreRefusedForSameReason) {
  work_.refuse({Code::kCancelled, "this worker is leaving the job"});
  work_.declare(fake::spec("x", Dtype::kF32, 2),
                [note = note()](const Result<Tensor>& result) { note(result.status()); });
  work_.barrier(note());
  work_.sit_out([note = note()](const Result<Rank>& result) { note(result.status()); });
  work_.load_state({}, {}, note());
  const auto operation = std::make_shared<Operation>();
  operation->ticket = std::make_shared<detail::TicketState>(1);
  work_.start(operation);
  heard_.push_back(operation->ticket->wait_for(0s).code());
  EXPECT_EQ(heard_, std::vector<Code>(5, Code::kCancelled));
  EXPECT_TRUE(work_.idle());
}

TEST_F(RequestDispatcherTest, EndAllFailsPendingAndLaterRequests) {
  work_.barrier(note());
  EXPECT_FALSE(work_.idle());
  EXPECT_EQ(work_.progress().waits_in, "") << "not for long yet";
  clock_.advance_to(clock_.now() + config_.job.heartbeat);
  EXPECT_EQ(work_.progress().waits_in, "barrier");
  van_.shut();
  work_.end_all({Code::kPeerLost, "worker 1 is lost"});
  work_.barrier(note());
  EXPECT_EQ(heard_, std::vector<Code>(2, Code::kPeerLost));
  EXPECT_TRUE(work_.idle());
}

TEST_F(RequestDispatcherTest, ALossRightAfterADisagreementIsItsConsequence) {
  const Status lost(Code::kPeerLost, "worker 1 is lost");
  EXPECT_EQ(work_.cause_of(lost).code(), Code::kPeerLost);
  work_.on_scheduler(
      control::Fault{.why = {Code::kMismatch, "worker 1 declared f64[2]"}, .name = "grads"});
  EXPECT_EQ(work_.cause_of(lost).code(), Code::kMismatch);
  EXPECT_EQ(work_.cause_of({Code::kSchedulerLost, "gone"}).code(), Code::kSchedulerLost);
  clock_.advance_to(clock_.now() + 2s);
  EXPECT_EQ(work_.cause_of(lost).code(), Code::kPeerLost) << "that was long ago";
}

}  // namespace
}  // namespace stretto
