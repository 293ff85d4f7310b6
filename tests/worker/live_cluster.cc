// SPDX-License-Identifier: Apache-2.0
// Starts the members of a job in one process, and ends them.
#include "tests/worker/live_cluster.h"

#include <gtest/gtest.h>

#include "van/transports.h"

namespace stretto::live {
namespace {

template <typename What>
std::unique_ptr<Transport> transport(const What& what) {
  Result<std::unique_ptr<Transport>> made = make_transport(what);
  EXPECT_TRUE(made.ok()) << made.status().text();
  return std::move(*made);
}

}  // namespace

Cluster::Cluster(const Plan& plan) : plan_(plan) {
  const auto make_config = [&](Role role) -> Config& {
    configs_.push_back(std::make_unique<Config>());
    Config& config = *configs_.back();
    config.role = role;
    config.workers = plan.workers;
    config.servers = plan.shards == 0 ? 0 : 1;
    config.shards = plan.shards;
    config.rank = role == Role::kServer ? 0 : -1;
    config.scheduler = address_;
    config.token = "secret";
    config.job = plan.job;
    config.transport = plan.transport;
    config.log_level = "silent";
    config.checkpoint = plan.checkpoint;
    return config;
  };
  disk_thread_ = checkpoint::ThreadDiskExecutor::start().or_exit();
  Config& first = make_config(Role::kScheduler);
  std::set<std::string> restored;
  go_on_from_newest(first, disk_, restored).or_exit();
  scheduler_ = std::make_unique<Scheduler>(
      first, transport(std::size_t{0}), clock_, nullptr,
      CheckpointKeeper::Files{
          .disk = &disk_, .work = disk_thread_.get(), .restored = std::move(restored)});
  const Result<std::string> address = scheduler_->listen("127.0.0.1:0");
  EXPECT_TRUE(address.ok()) << address.status().text();
  address_ = *address;
  for (std::uint32_t index = 0; index < plan.shards; ++index) {
    const Config& config = make_config(Role::kServer);
    shards_.push_back(std::make_unique<Shard>(
        config, index, transport(config), clock_,
        ShardPersistence::Files{.disk = &disk_, .work = disk_thread_.get()}));
    EXPECT_TRUE(shards_.back()->start("127.0.0.1:0", "").ok());
  }
  outcomes_.resize(1 + shards_.size());
  drive(scheduler_, outcomes_[0], stop_);
  for (std::size_t i = 0; i < shards_.size(); ++i)
    drive(shards_[i], outcomes_[i + 1], halt_shards_);
}

Cluster::~Cluster() {
  stop_.store(true, std::memory_order_release);
  halt_shards_.store(true, std::memory_order_release);
  stop_.notify_all();
  threads_.clear();
}

Options Cluster::options(std::int64_t rank) const {
  return {.scheduler = address_,
          .token = "secret",
          .rank = rank,
          .workers = plan_.workers,
          .servers = plan_.shards == 0 ? 0U : 1U,
          .rendezvous_timeout = 60s,
          .operation_timeout = plan_.operation_timeout,
          .checkpoint = plan_.checkpoint.folder};
}

void Cluster::run(const std::function<void(Worker&)>& program) const {
  std::vector<std::jthread> workers;
  for (std::uint32_t rank = 0; rank < plan_.workers; ++rank) {
    workers.emplace_back([this, rank, &program] {
      Result<Worker> worker = Worker::join(options(rank));
      ASSERT_TRUE(worker.ok()) << worker.status().text();
      // Ranks of an elastic job change when a worker has left, as a fast worker may have.
      EXPECT_TRUE(worker->rank() == rank || plan_.job.elastic());
      program(*worker);
      (void)worker->leave();
    });
  }
}

std::vector<Status> Cluster::outcomes() {
  threads_.clear();
  return outcomes_;
}

}  // namespace stretto::live
