// SPDX-License-Identifier: Apache-2.0
// The public API as a program uses it, over real sockets: every operation, many threads, wrong
// arguments, deadlines and ends.
#include "stretto/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <numeric>
#include <random>

#include "tests/worker/live_cluster.h"
#include "tests/worker/whole_numbers.h"

namespace stretto {
namespace {

using live::Cluster;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

using live::declare;
using live::Floats;
using live::numbers;
using live::sum_of;

// ---- operations

TEST(Worker, SumsTensorsOfEverySize) {
  Cluster cluster({.workers = 3, .job = {.part_bytes = 256}});
  cluster.run([](Worker& worker) {
    for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 1000U}) {
      const Tensor tensor = declare(worker, "t" + std::to_string(size), Dtype::kF32, size);
      for (int round = 0; round < 3; ++round) {
        Floats sum(size);
        const Floats mine = numbers(size, worker.rank(), round);
        EXPECT_TRUE(worker.push_pull(tensor, mine, sum).wait().ok());
        EXPECT_EQ(sum, sum_of(size, 3, round));
      }
    }
    EXPECT_EQ(worker.size(), 3U);
  });
  EXPECT_THAT(cluster.outcomes(), Each(testing::Property(&Status::ok, true)));
}

TEST(Worker, RandomSteeringKeepsValuesCorrect) {
  constexpr std::size_t kSize = 5000;
  Cluster cluster({.workers = 2, .job = {.part_bytes = 4096}});
  cluster.run([](Worker& worker) {
    std::vector<Tensor> tensors;
    for (const char* name : {"a", "b", "c", "d"}) {
      tensors.push_back(declare(worker, name, Dtype::kF32, kSize));
    }
    std::minstd_rand random(worker.rank() + 1);
    for (int round = 0; round < 100; ++round) {
      const Floats mine = numbers(kSize, worker.rank(), round);
      std::vector<Floats> sums(tensors.size(), Floats(kSize));
      std::vector<Ticket> tickets;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        tickets.push_back(worker.push_pull(tensors[i], mine, sums[i]));
      }
      for (int change = 0; change < 8; ++change) {
        const Ticket& ticket = tickets[random() % tickets.size()];
        ticket.set_priority(static_cast<int>(random() % 100));
        ticket.set_deadline(std::chrono::steady_clock::now() +
                            std::chrono::milliseconds(random() % 9));
        if (random() % 2 == 0) ticket.pause();
      }
      for (const Ticket& ticket : tickets) ticket.resume();
      for (std::size_t i = 0; i < tickets.size(); ++i) {
        EXPECT_TRUE(tickets[i].wait().ok());
        EXPECT_EQ(sums[i], sum_of(kSize, 2, round));
      }
      Floats unwanted(kSize);
      const Ticket pull = worker.pull(tensors[0], unwanted);
      pull.cancel();
      const Status status = pull.wait();
      EXPECT_TRUE(status.ok() || status.code() == Code::kCancelled) << status.text();
    }
  });
  EXPECT_THAT(cluster.outcomes(), Each(testing::Property(&Status::ok, true)));
}

TEST(Worker, DeclaresInAnyOrder) {
  Cluster cluster;
  cluster.run([](Worker& worker) {
    std::vector<std::string> names{"a", "b", "c", "d"};
    if (worker.rank() == 1) std::reverse(names.begin(), names.end());
    std::map<std::string, Tensor> tensors;
    for (const std::string& name : names) {
      tensors[name] = declare(worker, name, Dtype::kI64, 1);
    }
    for (const auto& [name, tensor] : tensors) {
      const std::vector<std::int64_t> mine{name[0] + std::int64_t{1000} * worker.rank()};
      std::vector<std::int64_t> sum(1);
      EXPECT_TRUE(worker.push_pull(tensor, mine, sum).wait().ok());
      EXPECT_EQ(sum[0], 2 * name[0] + 1000);
    }
  });
}

TEST(Worker, AGroupEndsWhenAllOfItHave) {
  Cluster cluster({.job = {.part_bytes = 128}});
  cluster.run([](Worker& worker) {
    std::vector<Floats> memory;
    std::vector<Transfer> transfers;
    for (int i = 0; i < 5; ++i) {
      memory.push_back(numbers(100, worker.rank(), i));
      const auto bytes = std::as_writable_bytes(std::span(memory.back()));
      transfers.push_back({.tensor = declare(worker, "t" + std::to_string(i), Dtype::kF32, 100),
                           .source = bytes,
                           .target = bytes,
                           .priority = i});
    }
    EXPECT_TRUE(worker.push_pull(transfers).wait().ok());
    for (int i = 0; i < 5; ++i) EXPECT_EQ(memory[static_cast<std::size_t>(i)], sum_of(100, 2, i));
    EXPECT_TRUE(worker.push_pull(std::span<const Transfer>()).wait().ok()) << "an empty group";
  });
}

TEST(Worker, BroadcastsFromEveryRoot) {
  Cluster cluster({.workers = 3});
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "weights", Dtype::kF32, 500);
    for (Rank root = 0; root < 3; ++root) {
      Floats data = numbers(500, worker.rank(), 7);
      EXPECT_TRUE(worker.broadcast(tensor, data, root).wait().ok());
      EXPECT_EQ(data, numbers(500, root, 7));
    }
  });
}

TEST(Worker, PushesAndPullsByThemselves) {
  Cluster cluster;
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "x", Dtype::kF32, 10);
    for (int round = 0; round < 5; ++round) {
      const Floats mine = numbers(10, worker.rank(), round);
      Floats value(10);
      EXPECT_TRUE(worker.push(tensor, mine).wait().ok());
      const Ticket pull = worker.pull(tensor, value);
      EXPECT_TRUE(pull.wait().ok());
      EXPECT_EQ(value, sum_of(10, 2, round)) << "it has what this worker pushed";
      EXPECT_EQ(pull.info().version, static_cast<std::uint64_t>(round + 1));
      EXPECT_TRUE(worker.barrier().ok());
    }
  });
}

TEST(Worker, AsyncSharesAllArrive) {
  Cluster cluster;
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "x", Dtype::kI32, 3, {.mode = Mode::kAsync});
    std::vector<std::int32_t> one{1, 1, 1}, value(3);
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(worker.push_pull(tensor, one, value).wait().ok());
    EXPECT_TRUE(worker.barrier().ok());
    EXPECT_TRUE(worker.pull(tensor, value).wait().ok());
    EXPECT_THAT(value, Each(100));
  });
}

TEST(Worker, BarrierWaitsForAllWorkers) {
  Cluster cluster({.workers = 3});
  std::atomic<int> arrived{0};
  cluster.run([&arrived](Worker& worker) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      EXPECT_TRUE(worker.barrier().ok());
      EXPECT_GE(arrived, 3 * round);
    }
  });
}

TEST(Worker, ManyThreadsMayUseOne) {
  Cluster cluster;
  cluster.run([](Worker& worker) {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&worker, caller] {
        const Tensor tensor = declare(worker, "of " + std::to_string(caller), Dtype::kF32, 300);
        const Tensor shared = declare(worker, "shared", Dtype::kF32, 8);
        for (int round = 0; round < 25; ++round) {
          Floats data = numbers(300, worker.rank(), round + caller);
          EXPECT_TRUE(worker.push_pull(tensor, data, data).wait().ok());
          EXPECT_EQ(data, sum_of(300, 2, round + caller));
          Floats ones(8, 1.0F);
          EXPECT_TRUE(worker.push_pull(shared, ones, ones).wait().ok());
          EXPECT_THAT(ones, Each(2.0F));
        }
      });
    }
  });
}

TEST(Worker, CallbacksMayStartTheNextOperation) {
  Cluster cluster;
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "x", Dtype::kF32, 4);
    Floats data(4, 1.0F);
    std::latch finished(1);
    std::function<void(int)> go = [&](int left) {
      worker.push_pull(tensor, data, data).on_done([&, left](const Status& status) {
        EXPECT_TRUE(status.ok());
        left > 1 && status.ok() ? go(left - 1) : finished.count_down();
      });
    };
    go(10);
    finished.wait();
    EXPECT_THAT(data, Each(1024.0F));
  });
}

TEST(Worker, BlockingCallsInCallbackAreRefused) {
  Cluster cluster({.workers = 2});
  std::latch registered(1);  // A ticket that has ended calls back on the caller's own thread.
  cluster.run([&registered](Worker& worker) {
    const Tensor tensor = declare(worker, "x", Dtype::kF32, 4);
    Floats data(4, 1.0F), other(4);
    if (worker.rank() == 1) {
      registered.wait();
      EXPECT_TRUE(worker.push_pull(tensor, data, data).wait().ok());
      EXPECT_TRUE(worker.barrier().ok());
      return;
    }
    std::latch finished(1);
    std::vector<Status> refused;
    worker.push_pull(tensor, data, data).on_done([&](const Status&) {
      refused.push_back(worker.declare("y", Dtype::kF32, 8).status());
      refused.push_back(worker.barrier());
      refused.push_back(worker.leave());
      const Ticket ticket = worker.pull(tensor, other);
      refused.push_back(ticket.wait());
      refused.push_back(ticket.wait_for(1s));
      ticket.on_done([&finished](const Status& status) {
        EXPECT_TRUE(status.ok()) << status.text();
        finished.count_down();
      });
    });
    registered.count_down();
    finished.wait();
    EXPECT_EQ(refused.size(), 5U);
    for (const Status& status : refused) {
      EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.text();
    }
    EXPECT_TRUE(worker.barrier().ok());
  });
}

// ---- wrong arguments

TEST(Worker, WrongSizesAreRefusedAndChangeNothing) {
  Cluster cluster;
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "x", Dtype::kF32, 4);
    Floats four(4, 1.0F), three(3);
    const auto expect_refused = [](const Ticket& ticket, const char* says) {
      EXPECT_TRUE(ticket.done());
      EXPECT_EQ(ticket.wait().code(), Code::kInvalidArgument);
      EXPECT_THAT(ticket.wait().cause(), HasSubstr(says));
    };
    expect_refused(worker.push(tensor, three), "the source has 12 bytes, tensor '");
    expect_refused(worker.pull(tensor, three), "the target has 12 bytes");
    expect_refused(worker.push_pull(tensor, four, three), "the target has 12 bytes");
    expect_refused(worker.push_pull(tensor, three, four), "the source has 12 bytes");
    expect_refused(worker.broadcast(tensor, three, 0), "the data has 12 bytes");
    expect_refused(worker.broadcast(tensor, four, 2), "root 2 of 2 workers; ranks are 0 to 1");
    EXPECT_EQ(worker.push(tensor, three).wait().operation(), "push");
    const Tensor unknown{.id = 99, .dtype = Dtype::kF32, .elements = 4};
    EXPECT_EQ(worker.push_pull(unknown, four, four).wait().code(), Code::kInvalidArgument);
    const Tensor smaller{.id = tensor.id, .dtype = Dtype::kF32, .elements = 3};
    const Status kept = worker.push_pull(smaller, three, three).wait();
    EXPECT_EQ(kept.code(), Code::kInvalidArgument);
    EXPECT_THAT(kept.cause(), HasSubstr("declared by this worker as f32[4]"));
    EXPECT_TRUE(worker.push_pull(tensor, four, four).wait().ok()) << "round 1 was still to come";
    EXPECT_THAT(four, Each(2.0F));
  });
}

TEST(Worker, ANameThatIsNoneIsRefused) {
  Cluster cluster({.workers = 1});
  cluster.run([](Worker& worker) {
    EXPECT_EQ(worker.declare("", Dtype::kF32, 4).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(worker.declare("x", Dtype{77}, 4).status().code(), Code::kInvalidArgument);
  });
}

TEST(Worker, MismatchReachesAllDeclarers) {
  Cluster cluster;
  std::latch declared(1);
  std::latch heard(1);
  cluster.run([&declared, &heard](Worker& worker) {
    if (worker.rank() == 1) {
      declared.wait();
      const Status status = worker.declare("x", Dtype::kF64, 4).status();
      EXPECT_EQ(status.code(), Code::kMismatch);
      EXPECT_THAT(status.cause(), AllOf(HasSubstr("f32[4] sync sum"), HasSubstr("f64[4]")));
      heard.wait();  // Who leaves is lost to the others, which they may hear first.
      return;
    }
    const Tensor tensor = declare(worker, "x", Dtype::kF32, 4);
    Floats data(4);
    const Ticket ticket = worker.push_pull(tensor, data, data);
    declared.count_down();
    EXPECT_EQ(ticket.wait().code(), Code::kMismatch);
    heard.count_down();
    EXPECT_THAT(ticket.wait().cause(), HasSubstr("worker 1 declared f64[4]"));
  });
}

TEST(Worker, TwoRootsAreTold) {
  Cluster cluster;
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "x", Dtype::kF32, 4);
    Floats data(4);
    EXPECT_EQ(worker.broadcast(tensor, data, worker.rank()).wait().code(), Code::kMismatch);
  });
}

// ---- ends

TEST(Worker, AfterLeavingEveryCallIsCancelled) {
  Cluster cluster;
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "x", Dtype::kF32, 4);
    Floats data(4, 1.0F);
    const Ticket last = worker.push_pull(tensor, data, data);
    EXPECT_TRUE(worker.leave().ok());
    EXPECT_TRUE(last.done() && last.wait().ok()) << "what was in flight ended first";
    EXPECT_EQ(worker.push_pull(tensor, data, data).wait().code(), Code::kCancelled);
    EXPECT_EQ(worker.push(tensor, data).wait().code(), Code::kCancelled);
    EXPECT_EQ(worker.pull(tensor, data).wait().code(), Code::kCancelled);
    EXPECT_EQ(worker.broadcast(tensor, data, 0).wait().code(), Code::kCancelled);
    EXPECT_EQ(worker.declare("y", Dtype::kF32, 1).status().code(), Code::kCancelled);
    EXPECT_EQ(worker.barrier().code(), Code::kCancelled);
    EXPECT_EQ(worker.leave().code(), Code::kCancelled);
  });
  EXPECT_THAT(cluster.outcomes(), Each(testing::Property(&Status::ok, true)));
}

TEST(Worker, LeavingHasAllThePatienceThatItIsGiven) {
  Cluster cluster;
  std::latch leaves(1);
  cluster.run([&leaves](Worker& worker) {
    const Tensor tensor = declare(worker, "x", Dtype::kF32, 4);
    Floats data(4, 1.0F);
    if (worker.rank() == 1) leaves.wait();
    const Ticket last = worker.push_pull(tensor, data, data);
    if (worker.rank() == 0) leaves.count_down();
    EXPECT_TRUE(worker.leave(Duration::max() - 1ns).ok());
    EXPECT_TRUE(last.done());
  });
}

TEST(Worker, ItsDestructorLeaves) {
  Cluster cluster({.workers = 1});
  {
    Result<Worker> worker = Worker::join(cluster.options());
    ASSERT_TRUE(worker.ok());
    Worker moved = std::move(*worker);
    EXPECT_EQ(moved.rank(), 0U);
  }
  EXPECT_THAT(cluster.outcomes(), Each(testing::Property(&Status::ok, true)));
}

TEST(Worker, AnOperationThatLacksAWorkerEndsAtItsDeadline) {
  Cluster cluster({.operation_timeout = 3s});  // Declaring has to be done in that time, too.
  std::latch ended(1);
  cluster.run([&ended](Worker& worker) {
    const Tensor tensor = declare(worker, "x", Dtype::kF32, 4);
    if (worker.rank() == 1) return ended.wait();
    Floats data(4);
    const Status status = worker.push_pull(tensor, data, data).wait();
    ended.count_down();
    EXPECT_EQ(status.code(), Code::kTimeout);
    EXPECT_EQ(status.operation(), "push_pull 'x'");
    EXPECT_THAT(status.cause(), HasSubstr("not done after 3 s"));
  });
}

TEST(Worker, BarrierMissingDepartedWorkerAlwaysFails) {
  Cluster cluster;
  cluster.run([](Worker& worker) {
    if (worker.rank() == 1) return;
    for (int attempt = 0; attempt < 3; ++attempt) {
      const Status status = worker.barrier();
      EXPECT_EQ(status.code(), Code::kPeerLost) << status.text();
      EXPECT_EQ(status.peer(), "worker 1");
    }
    EXPECT_TRUE(worker.leave().ok()) << "a barrier that failed is not the end of the job";
  });
  EXPECT_THAT(cluster.outcomes(), Each(testing::Property(&Status::ok, true)));
}

TEST(Worker, ARoundThatLacksAWorkerThatHasLeftFails) {
  Cluster cluster;
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "x", Dtype::kF32, 4);
    if (worker.rank() == 1) return;
    Floats data(4);
    const Status status = worker.push_pull(tensor, data, data).wait();
    EXPECT_EQ(status.code(), Code::kPeerLost) << status.text();
    EXPECT_EQ(status.peer(), "worker 1");
  });
}

// ---- joining

TEST(Worker, WithoutASchedulerToGoToJoiningIsRefused) {
  const Status status = Worker::join(Options{}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.cause(), HasSubstr("STRETTO_SCHEDULER=host:port"));
  Options options;
  options.scheduler = "nowhere";
  EXPECT_EQ(Worker::join(options).status().code(), Code::kInvalidArgument);
  options.scheduler = "127.0.0.1:1";
  options.rank = 5;
  EXPECT_EQ(Worker::join(options).status().code(), Code::kInvalidArgument);
}

TEST(Worker, ASchedulerThatIsNotThereIsNamed) {
  Options options;
  options.scheduler = "127.0.0.1:1";
  options.rendezvous_timeout = 300ms;
  const Status status = Worker::join(options).status();
  EXPECT_EQ(status.code(), Code::kRendezvousTimeout) << status.text();
  EXPECT_THAT(status.cause(), HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(status.peer(), "scheduler");
}

TEST(Worker, TheSchedulersRefusalIsTheJoinsError) {
  Cluster cluster;
  Options options = cluster.options();
  options.workers = 7;
  EXPECT_THAT(Worker::join(options).status().cause(),
              AllOf(HasSubstr("of 7 workers"), HasSubstr("of 2 workers")));
  options = cluster.options();
  options.token = "wrong";
  const Status status = Worker::join(options).status();
  EXPECT_EQ(status.code(), Code::kRefused);
  EXPECT_THAT(status.cause(), HasSubstr("STRETTO_JOB_TOKEN"));
}

}  // namespace
}  // namespace stretto
