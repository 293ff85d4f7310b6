// SPDX-License-Identifier: Apache-2.0
// What is in flight, what is late, and when tickets end.
#include "worker/operations/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/sim_network.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class OperationTableTest : public testing::Test {
 protected:
  OperationTableTest() {
    const TensorSpec spec = fake::spec("grads", Dtype::kF32, 2, {});
    tensors_.add(1, spec, Cut(spec, 8), {11});
  }
  OperationPtr begin(std::uint32_t tensor = 1) {
    auto made = std::make_shared<Operation>();
    made->kind = Operation::Kind::kPull;
    made->tensor.id = tensor;
    made->ticket = std::make_shared<detail::TicketState>(1);
    operations_.admit(*made);
    operations_.begin(made);
    return made;
  }

  sim::VirtualClock clock_;
  Tensors tensors_;
  OperationTable operations_{clock_, 20s, tensors_};
};

TEST_F(OperationTableTest, TheOldestIsTheFirstToBeLate) {
  const Time start = clock_.now();
  EXPECT_EQ(operations_.next_due(), Time::max());
  const OperationPtr first = begin();
  clock_.advance_to(start + 1s);
  const OperationPtr second = begin();
  EXPECT_NE(first->id, second->id);
  EXPECT_EQ(operations_.next_due(), start + 20s);
  EXPECT_EQ(operations_.late(start + 20s - 1ns), nullptr);
  EXPECT_EQ(operations_.late(start + 20s), first.get());
  EXPECT_EQ(operations_.oldest(start), first.get());
  EXPECT_EQ(operations_.oldest(start - 1ns), nullptr);
  EXPECT_EQ(operations_.describe(*first), "pull 'grads'");
  EXPECT_EQ(operations_.last_begun(), operations_.describe(*second));
  EXPECT_EQ(operations_.last_ended(), "");
  operations_.end(first, {});
  EXPECT_EQ(operations_.late(start + 20s), nullptr);
  EXPECT_THAT(operations_.all(), ElementsAre(second));
}

TEST_F(OperationTableTest, WhileAnotherWorkerPausesNoneIsLate) {
  const Time start = clock_.now();
  const OperationPtr first = begin();
  operations_.patience().excuse(start + 15s);
  EXPECT_EQ(operations_.late(start + 20s), nullptr);
  EXPECT_EQ(operations_.next_due(), start + 35s);
  EXPECT_EQ(operations_.late(start + 35s), first.get());
  EXPECT_EQ(operations_.begun_at(*first), start);
}

TEST_F(OperationTableTest, ErrorNamesOperationAndTimeoutNamesOthers) {
  operations_.set_elsewhere("worker 1 waits in barrier");
  const OperationPtr lost = begin();
  operations_.end(lost, {Code::kPeerLost, "gone"});
  EXPECT_EQ(lost->ticket->wait_for(0s).cause(), "gone");
  EXPECT_EQ(lost->ticket->wait_for(0s).operation(), "pull 'grads'");
  const OperationPtr late = begin();
  operations_.end(late, {Code::kTimeout, "late"});
  EXPECT_EQ(late->ticket->wait_for(0s).cause(), "late; meanwhile worker 1 waits in barrier");
}

TEST_F(OperationTableTest, ATicketEndsWhenItsMemoryIsFree) {
  const OperationPtr operation = begin();
  operation->leases = 1;
  operations_.end(operation, {});
  EXPECT_EQ(operations_.count(), 0U);
  EXPECT_FALSE(operations_.idle());
  operations_.end_free();
  EXPECT_FALSE(operation->ticket->done());
  clock_.advance_to(clock_.now() + 3s);
  EXPECT_FALSE(operations_.stuck()) << "it may be on its way to other workers";
  clock_.advance_to(operation->deadline + 3s);
  EXPECT_TRUE(operations_.stuck());
  operation->leases = 0;
  operations_.end_free();
  EXPECT_TRUE(operation->ticket->done());
  EXPECT_TRUE(operations_.idle());
}

TEST_F(OperationTableTest, ThoseOfOneTensorAreFound) {
  const OperationPtr other = begin(2);
  const OperationPtr one = begin(1);
  EXPECT_THAT(operations_.of_tensor(1), ElementsAre(one));
  EXPECT_THAT(operations_.of_tensor(2), ElementsAre(other));
}

using OperationsDeathTest = OperationTableTest;

TEST_F(OperationsDeathTest, ATicketDoesNotEndTwice) {
  const OperationPtr operation = begin();
  operations_.end(operation, {});
  EXPECT_DEATH(operations_.end(operation, {}), "operation->ended");
}

}  // namespace
}  // namespace stretto
