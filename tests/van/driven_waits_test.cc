// SPDX-License-Identifier: Apache-2.0
// Waiting threads drive the loop: one leader at a time, until its own wait ends; then the next
// waiter, or the loop thread.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "common/threads/completion.h"
#include "common/threads/loop_owner.h"
#include "common/threads/parker.h"
#include "van/event_loop/loop_thread.h"

namespace stretto {
namespace {

using End = Completion<int>;

/// A completion that ends once a certain thread has driven the loop.
struct Wanted {
  const void* thread = nullptr;  // Null: any.
  std::shared_ptr<End> end;
};

/// Ends the wanted completions when stepped on the right thread; has no lock of its own.
class DrivenNode {
 public:
  struct Bell {
    void wake() { parker.unpark(); }
    Parker parker;
  };

  const DrivenNode& van() const { return *this; }
  const std::shared_ptr<Bell>& waker() const { return bell_; }
  bool idle() const { return wanted_.empty(); }
  bool over() const { return over_; }
  Time next_due() const { return Time::max(); }
  void step(Duration wait) {
    owner_.check();
    if (!tell() && wait > Duration::zero()) {
      bell_->parker.park_until(std::chrono::steady_clock::now() + wait);
      tell();
    }
  }
  void want(const Wanted& wanted) {
    owner_.check();
    wanted_.push_back(wanted);
  }
  void abandon() {
    over_ = true;
    for (const Wanted& wanted : std::exchange(wanted_, {})) wanted.end->end({}, 0);
    owner_.end();
  }

 private:
  bool tell() {
    const auto here = [](const Wanted& wanted) {
      const bool told = wanted.thread == nullptr || wanted.thread == CurrentLoop::this_thread();
      if (told) wanted.end->end({}, 1);
      return told;
    };
    return std::erase_if(wanted_, here) > 0;
  }

  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::vector<Wanted> wanted_;
  bool over_ = false;
  LoopOwner owner_;
};

using Loop = LoopThread<DrivenNode>;

class DrivenWaits : public testing::Test {
 protected:
  // No waiter drives before the loop thread has started, and these tests need driving waiters.
  DrivenWaits() {
    EXPECT_TRUE(loop_.start().ok());
    wait(*want(loop_, nullptr));
  }

  std::shared_ptr<End> want(Loop& loop, const void* thread) {
    auto end = std::make_shared<End>();
    loop.post([wanted = Wanted{thread, end}](DrivenNode& node) { node.want(wanted); });
    return end;
  }
  void wait(End& end, Time deadline = Time::max()) { loop_.door()->wait_until(end, deadline); }

  const SteadyClock clock_;
  DrivenNode node_;
  Loop loop_{node_, clock_};
};

TEST_F(DrivenWaits, WaiterDrivesLoop) {
  for (int i = 0; i < 100; ++i) {
    const auto end = want(loop_, CurrentLoop::this_thread());
    wait(*end);
    EXPECT_TRUE(end->done()) << "it was not, had this thread not driven";
  }
}

TEST_F(DrivenWaits, AfterTheLastWaitTheOwnThreadDrives) {
  wait(*want(loop_, CurrentLoop::this_thread()));
  const void* own = nullptr;
  auto seen = std::make_shared<End>();
  loop_.post([&own, seen](DrivenNode&) {
    own = CurrentLoop::this_thread();
    seen->end({}, 1);
  });
  park_until_done(*seen, Time::max());
  EXPECT_NE(own, CurrentLoop::this_thread());
}

TEST_F(DrivenWaits, OfManyWaitersEachGetsItsTurn) {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this] {
      for (int i = 0; i < 200; ++i) {
        const auto end = want(loop_, i % 2 == 0 ? CurrentLoop::this_thread() : nullptr);
        wait(*end);
        EXPECT_TRUE(end->done());
      }
    });
  }
}

TEST_F(DrivenWaits, OthersMayPostMeanwhile) {
  std::atomic<int> left{2};
  int asked = 0;  // Used by the loop only.
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) loop_.post([&asked](DrivenNode&) { ++asked; });
      --left;
    });
  }
  while (left > 0) wait(*want(loop_, CurrentLoop::this_thread()));
  threads.clear();
  EXPECT_EQ(loop_.ask<int>([&asked](DrivenNode&, const auto& done) { done(asked); }), 4000);
}

TEST_F(DrivenWaits, ALimitEndsAWaitAndNotTheLoop) {
  const auto never = want(loop_, &node_);
  const Time begin = std::chrono::steady_clock::now();
  wait(*never, begin + 5ms);
  EXPECT_GE(std::chrono::steady_clock::now(), begin + 5ms);
  EXPECT_FALSE(never->done());
  wait(*want(loop_, CurrentLoop::this_thread()));
}

TEST_F(DrivenWaits, InterruptEndsWaitButNotRequest) {
  std::shared_ptr<End> asked;
  bool told = false;
  int looks = 0;
  {
    const Interruptible twice([&looks] { return ++looks < 2; });
    const auto answer = loop_.ask_until<int>(Time::max(), [&](DrivenNode&, const auto& done) {
      asked = std::make_shared<End>();
      asked->on_done([&told, done](const Status&) {
        told = true;
        done(1);
      });
    });
    EXPECT_FALSE(answer);
    EXPECT_EQ(looks, 2);
  }
  asked->end({}, 1);
  EXPECT_TRUE(told);
  EXPECT_EQ(loop_.ask_until<int>(Time::max(), [](DrivenNode&, const auto& done) { done(7); }), 7);
  EXPECT_EQ(looks, 2);
}

TEST_F(DrivenWaits, ALimitInThePastEndsAWaitAtOnce) {
  const auto never = want(loop_, &node_);
  wait(*never, std::chrono::steady_clock::now() + Duration::min());
  wait(*never, Time::min());
  EXPECT_FALSE(never->done());
}

/// An object that cannot be watched for lack of memory.
class Unwatchable final : public Awaited {
 public:
  bool done() override { return false; }
  bool watch(Parker&) override { throw std::bad_alloc(); }
  void unwatch(Parker&) override {}
};

TEST_F(DrivenWaits, UnwatchableWaiterIsNotOfferedLoop) {
  auto asked = std::make_shared<End>();
  loop_.post([this, asked](DrivenNode&) {  // The loop thread drives: a waiter asks for the loop.
    Unwatchable unwatchable;
    std::jthread([&] {
      EXPECT_THROW(loop_.door()->wait_until(unwatchable, Time::max()), std::bad_alloc);
    }).join();
    asked->end({}, 1);
  });
  park_until_done(*asked, Time::max());
  const auto end = want(loop_, nullptr);
  park_until_done(*end, std::chrono::steady_clock::now() + 10s);
  EXPECT_TRUE(end->done()) << "nobody drives";
}

TEST_F(DrivenWaits, AForkedChildDrivesNothing) {
  for (int i = 0; i < 5; ++i) {
    wait(*want(loop_, CurrentLoop::this_thread()));  // The loop is without a driver for a while.
    const pid_t child = ::fork();
    if (child == 0) {
      ::ualarm(200'000, 0);  // A lock may have been held during the fork.
      const auto asked = loop_.ask_until<int>(std::chrono::steady_clock::now() + 5ms,
                                              [](DrivenNode&, const auto& done) { done(1); });
      ::_exit(asked ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) != 0) << "the node is the parent's";
  }
}

TEST_F(DrivenWaits, LoopStopsWhileWaiterDrives) {
  auto begun = std::make_shared<std::atomic<bool>>(false);
  const auto never = want(loop_, &node_);
  std::jthread waiter([this, never, begun, door = loop_.door()] {
    wait(*want(loop_, CurrentLoop::this_thread()));
    *begun = true;
    begun->notify_all();
    door->wait_until(*never, Time::max());
  });
  begun->wait(false);
  loop_.stop();
  waiter.join();
  EXPECT_TRUE(never->done());
}

TEST_F(DrivenWaits, CallbackIsOnLoopInDrivingWaiter) {
  bool here = false;
  auto end = std::make_shared<End>();
  end->on_done([&](const Status&) { here = loop_.is_here() && loop_.door()->is_here(); });
  loop_.post(
      [wanted = Wanted{CurrentLoop::this_thread(), end}](DrivenNode& node) { node.want(wanted); });
  wait(*end);
  EXPECT_TRUE(here);
  EXPECT_FALSE(loop_.is_here());
}

TEST_F(DrivenWaits, DriverOfLoopDrivesNoOtherLoop) {
  DrivenNode other_node;
  Loop other(other_node, clock_);
  ASSERT_TRUE(other.start().ok());
  other.door()->wait_until(*want(other, nullptr), Time::max());
  auto end = std::make_shared<End>();
  end->on_done([&](const Status&) {
    other.door()->wait_until(*want(other, nullptr), Time::max());
    EXPECT_TRUE(loop_.is_here());
    EXPECT_FALSE(other.is_here());
  });
  loop_.post(
      [wanted = Wanted{CurrentLoop::this_thread(), end}](DrivenNode& node) { node.want(wanted); });
  wait(*end);
  other.stop();
}

// For a waiting thread that has made this change to itself.
void expect_own_drives_for(Loop& loop, const std::function<int()>& change) {
  std::jthread([&] {
    ASSERT_EQ(change(), 0);
    for (int i = 0; i < 20; ++i) {
      auto driver = std::make_shared<std::promise<const void*>>();
      auto end = std::make_shared<End>();
      end->on_done([driver](const Status&) { driver->set_value(CurrentLoop::this_thread()); });
      loop.post([end](DrivenNode& here) { here.want({nullptr, end}); });
      loop.door()->wait_until(*end, Time::max());
      ASSERT_TRUE(end->done());
      ASSERT_NE(driver->get_future().get(), CurrentLoop::this_thread());
    }
  }).join();
}

TEST_F(DrivenWaits, LowerPriorityWaiterDoesNotDrive) {
  expect_own_drives_for(
      loop_, [] { return ::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + 1); });
  expect_own_drives_for(loop_, [] {
    const sched_param none{};
    return ::sched_setscheduler(0, SCHED_IDLE, &none);
  });
  wait(*want(loop_, CurrentLoop::this_thread()));
}

TEST_F(DrivenWaits, WaiterDrivesIfAllThreadsLowerPriority) {
  std::jthread([this] {
    const int nice = ::getpriority(PRIO_PROCESS, 0) + 1;
    std::atomic<bool> on_own{false};
    while (!on_own) {  // Until the loop thread drives.
      auto asked = std::make_shared<End>();
      loop_.post([&on_own, asked, nice, here = CurrentLoop::this_thread()](DrivenNode&) {
        on_own = CurrentLoop::this_thread() != here;
        if (on_own) {
          EXPECT_EQ(::setpriority(PRIO_PROCESS, 0, nice), 0);
        }
        asked->end({}, 1);
      });
      park_until_done(*asked, Time::max());
    }
    ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, nice), 0);
    wait(*want(loop_, CurrentLoop::this_thread()));
  }).join();
}

TEST_F(DrivenWaits, AThreadIsNotCancelledInTheMiddleOfATurn) {
  std::atomic<bool> drives{false};
  std::atomic<bool> cancelled{false};
  bool waited = false;
  auto end = std::make_shared<End>();
  end->on_done([&](const Status&) {
    drives = true;
    drives.notify_all();
    cancelled.wait(false);
    ::pthread_testcancel();  // As polling and sending do.
  });
  std::thread waiter([&] {
    loop_.post([wanted = Wanted{CurrentLoop::this_thread(), end}](DrivenNode& node) {
      node.want(wanted);
    });
    wait(*end);
    waited = true;
    for (;;) ::pthread_testcancel();
  });
  drives.wait(false);
  EXPECT_EQ(::pthread_cancel(waiter.native_handle()), 0);
  cancelled = true;
  cancelled.notify_all();
  waiter.join();
  EXPECT_TRUE(waited);
}

}  // namespace
}  // namespace stretto
