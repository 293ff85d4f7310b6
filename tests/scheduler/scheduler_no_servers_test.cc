// SPDX-License-Identifier: Apache-2.0
// Tensors that no server has: in jobs with servers they take no slots, and a job without servers is
// one of no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/log.h"
#include "scheduler/scheduler.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using fake::FarEnd;
using testing::AllOf;
using testing::HasSubstr;

class TensorsOfNoServer : public testing::Test {
 protected:
  TensorsOfNoServer() {
    EXPECT_TRUE(scheduler_.listen("127.0.0.1:9000").ok());
    set_log_level(Level::kError);
  }
  ~TensorsOfNoServer() override { set_log_level(Level::kInfo); }

  void say(FarEnd& far, const control::Message& message) {
    far.say(message);
    for (int turn = 0; turn < 2; ++turn) scheduler_.step(Duration::zero());
  }
  void come(FarEnd& far, Role role, Rank rank) {
    control::Hello hello = fake::hello(role, rank);
    hello.servers = config_.servers;
    far.connect();
    say(far, hello);
    const auto heard = far.controls();
    far.node = std::get<control::Welcome>(heard.at(0)).node;
    if (heard.size() > 1) roster_ = std::get<Roster>(heard[1]);
  }
  void declare(const std::string& name, std::uint64_t elements, const TensorOptions& options = {}) {
    say(first_, control::Declare{.spec = fake::spec(name, Dtype::kF32, elements, options)});
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  Config config_ = fake::config(Role::kScheduler, -1);
  Scheduler scheduler_{config_, fake::scripted_transport(wire_), clock_};
  FarEnd server_{wire_, 101, 0};
  FarEnd first_{wire_, 102, 0};
  FarEnd second_{wire_, 103, 0};
  Roster roster_;  // That the last who came was told.
};

TEST_F(TensorsOfNoServer, TakeNoSlots) {
  come(server_, Role::kServer, 0);
  come(second_, Role::kWorker, 1);
  come(first_, Role::kWorker, 0);
  declare("x", 1'000'000, {.exchange = Exchange::kRing});
  EXPECT_TRUE(std::get<control::Declared>(first_.control()).owners.empty());
  declare("y", 1);
  const control::Declared after = std::get<control::Declared>(first_.control());
  EXPECT_EQ(after.first_slot, 0U);
  EXPECT_EQ(after.owners.size(), 1U);
}

TEST_F(TensorsOfNoServer, AreAllThatAJobWithoutServersTakes) {
  config_.servers = 0;
  come(second_, Role::kWorker, 1);
  come(first_, Role::kWorker, 0);
  EXPECT_EQ(roster_.epoch, 1U);
  EXPECT_EQ(roster_.servers, 0U);
  EXPECT_EQ(roster_.slots, 0U);

  declare("sums", 100);
  const control::Fault sums = std::get<control::Fault>(first_.control());
  EXPECT_EQ(sums.why.code(), Code::kInvalidArgument);
  EXPECT_EQ(sums.name, "sums");
  EXPECT_THAT(sums.why.cause(), AllOf(HasSubstr("this job has none (--servers 0)"),
                                      HasSubstr("declare it with an exchange among workers")));
  declare("late", 100, {.mode = Mode::kAsync});
  EXPECT_THAT(std::get<control::Fault>(first_.control()).why.cause(),
              HasSubstr("tensor 'late' (f32[100] async sum) wants servers"));
  declare("sums", 100, {.exchange = Exchange::kDirect});
  EXPECT_EQ(std::get<control::Declared>(first_.control()).tensor, 1U) << "none was registered";
}

}  // namespace
}  // namespace stretto
