// SPDX-License-Identifier: Apache-2.0
// The end of a worker in any state of its peers: each ticket ends once, before the worker is
// destroyed, and handles work until then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>

#include "tests/worker/live_cluster.h"
#include "van/event_loop/loop_thread.h"
#include "van/transports.h"
#include "worker/node.h"

namespace stretto {
namespace {

using live::Cluster;
using testing::HasSubstr;

using Floats = std::vector<float>;

/// A worker whose loop can be stopped at once.
class Stoppable {
 public:
  Stoppable(const Cluster& cluster, TransportChoice transport)
      : config_(config_of(cluster.options(0), transport)),
        node_(config_, std::move(*make_transport(config_)), clock_) {
    std::promise<Status> joined;
    node_.join([&joined](const Status& status) { joined.set_value(status); });
    EXPECT_TRUE(loop_.start().ok());
    EXPECT_TRUE(joined.get_future().get().ok());
  }

  Tensor declare(std::uint64_t elements, const TensorOptions& options = {}) {
    const TensorSpec spec{
        .name = "x", .dtype = Dtype::kF32, .elements = elements, .options = options};
    return *loop_.ask<Result<Tensor>>([spec](WorkerNode& node, WorkerNode::Declared done) {
      node.work().declare(spec, std::move(done));
    });
  }
  void start(const std::shared_ptr<Operation>& operation) {
    loop_.post([operation](WorkerNode& node) { node.work().start(operation); });
  }
  std::uint64_t bytes_in_flight() {
    return loop_.ask<std::uint64_t>(
        [](WorkerNode& node, const std::function<void(std::uint64_t)>& done) {
          done(node.van().queue().windows().in_flight());
        });
  }
  void stop() { loop_.stop(); }

 private:
  static Config config_of(const Options& options, TransportChoice transport) {
    Config config;
    config.role = Role::kWorker;
    config.rank = 0;
    config.workers = options.workers;
    config.servers = options.servers;
    config.scheduler = options.scheduler;
    config.token = options.token;
    config.transport = transport;
    return config;
  }

  const SteadyClock clock_;
  const Config config_;
  WorkerNode node_;
  LoopThread<WorkerNode> loop_{node_, clock_};
};

class WorkerEnd : public testing::TestWithParam<TransportChoice> {};

TEST_P(WorkerEnd, EndsTicketsWhileServerHoldsMemory) {
  constexpr std::uint64_t kWindow = 8 << 20;
  Cluster cluster({.workers = 1,
                   .job = {.link_window_bytes = kWindow, .total_window_bytes = kWindow},
                   .transport = GetParam()});
  Stoppable worker(cluster, GetParam());
  const Tensor tensor = worker.declare(4 << 20);
  Floats memory(tensor.elements);
  cluster.freeze_shards();
  auto operation = std::make_shared<Operation>();
  operation->tensor = tensor;
  operation->source = std::as_bytes(std::span(memory));
  operation->ticket = std::make_shared<detail::TicketState>(1);
  worker.start(operation);
  while (worker.bytes_in_flight() == 0) std::this_thread::yield();
  worker.stop();
  ASSERT_TRUE(operation->ticket->done());
  EXPECT_EQ(operation->ticket->wait().code(), Code::kCancelled);
  EXPECT_EQ(operation->leases.load(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Transports, WorkerEnd,
                         testing::Values(TransportChoice::kTcp, TransportChoice::kFabric),
                         [](const auto& about) {
                           return about.param == TransportChoice::kTcp ? "Tcp" : "Fabric";
                         });

// Encoding threads finish pieces before, during and after the close of the loop's inbox.
TEST(WorkerEnds, PendingEncodingEndsBeforeWorker) {
  Floats memory(1 << 20, 1.0F);
  for (int turn = 0; turn < 6; ++turn) {
    Cluster cluster({.workers = 1, .transport = TransportChoice::kTcp});
    auto operation = std::make_shared<Operation>();
    operation->ticket = std::make_shared<detail::TicketState>(1);
    {
      Stoppable worker(cluster, TransportChoice::kTcp);
      operation->tensor = worker.declare(memory.size(), {.codec = *codec_from("dithering,k=4")});
      operation->source = std::as_bytes(std::span(memory));
      worker.start(operation);
      for (int look = 0; look < turn; ++look) (void)worker.bytes_in_flight();
    }
    ASSERT_TRUE(operation->ticket->done());
    EXPECT_EQ(operation->leases.load(), 0U);
  }
}

TEST(WorkerEnds, RepeatedLeaveAwaitsSameEnd) {
  Cluster cluster({.workers = 1});
  cluster.run([](Worker& worker) {
    Floats data(4, 1.0F);
    const Tensor tensor = *worker.declare("x", Dtype::kF32, 4);
    const Ticket waits = worker.pull(tensor, data);  // Waits for a first value.
    for (int attempt = 0; attempt < 2; ++attempt) {
      EXPECT_EQ(worker.leave(10ms).code(), Code::kTimeout);
      EXPECT_FALSE(waits.done());
    }
    waits.cancel();
    const Status left = worker.leave();  // An earlier call may have completed the leave.
    EXPECT_TRUE(left.ok() || left.code() == Code::kCancelled) << left.text();
    EXPECT_EQ(waits.wait().code(), Code::kCancelled);
  });
}

TEST(WorkerEnds, HandlesAreHeardUntilTheWorkerHasLeft) {
  Cluster cluster({.workers = 1});
  Result<Worker> joined = Worker::join(cluster.options());
  ASSERT_TRUE(joined.ok());
  auto worker = std::make_unique<Worker>(std::move(*joined));
  Floats data(4, 1.0F);
  const Ticket waits = worker->pull(*worker->declare("x", Dtype::kF32, 4), data);
  std::jthread destroyer([&worker] { worker.reset(); });
  EXPECT_EQ(waits.wait_for(50ms).code(), Code::kTimeout) << "the destructor waits for it";
  waits.cancel();
  EXPECT_THAT(waits.wait().cause(), HasSubstr("it was cancelled"));
}

TEST(WorkerEnds, ThrowingCallbackSparesLaterOperations) {
  Cluster cluster({.workers = 1});
  cluster.run([](Worker& worker) {
    const Tensor tensor = *worker.declare("x", Dtype::kF32, 4);
    Floats data(4, 1.0F);
    const Ticket waits = worker.pull(tensor, data);
    waits.on_done([](const Status&) { (void)std::stoi("no number"); });
    waits.cancel();
    EXPECT_EQ(waits.wait().code(), Code::kCancelled);
    EXPECT_TRUE(worker.push_pull(tensor, data, data).wait().ok());
  });
}

}  // namespace
}  // namespace stretto
