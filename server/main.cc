// SPDX-License-Identifier: Apache-2.0
// stretto-server: the main program, with one thread and one endpoint per shard.
#include <fmt/core.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <list>
#include <thread>

#include "checkpoint/resume_source.h"
#include "common/config/advertised.h"
#include "common/config/program.h"
#include "common/files/real_disk.h"
#include "common/flags/flags.h"
#include "common/memory.h"
#include "common/network/network.h"
#include "common/process/signals.h"
#include "observe/metrics/endpoint.h"
#include "server/ports.h"
#include "server/shard.h"
#include "van/transports.h"

DEFINE_int32(workers, 0, "workers in the job (STRETTO_WORLD_SIZE)");
DEFINE_int32(servers, -1, "servers in the job (STRETTO_SERVERS)");
DEFINE_int32(shards, 0, "shards of this and every server (STRETTO_SHARDS)");
DEFINE_int32(rank, -1, "this server's rank (STRETTO_RANK); the scheduler chooses if not given");
DEFINE_string(scheduler, "", "HOST:PORT: of the scheduler (STRETTO_SCHEDULER)");
DEFINE_string(bind_host, "", "ADDRESS: to bind (STRETTO_BIND_HOST); default 127.0.0.1");
DEFINE_int32(port, 0,
             "PORT: the first of all servers; shard i of server r has that + r x shards + i "
             "(STRETTO_SERVER_PORT); default any");
DEFINE_string(metrics_address, "", "HOST:PORT: of metrics (STRETTO_METRICS_ADDRESS); default none");
DEFINE_string(transport, "",
              "auto|tcp|zmq|shm|fabric: how to meet workers (STRETTO_TRANSPORT); default auto");

namespace stretto {
namespace {

constexpr Duration kSecondSignal = 1s;  // A later one is a new request.

constexpr char kUsage[] =
    "usage: stretto-server [FLAG]...\n\n"
    "A server of a Stretto job: sums and updates what workers push. stretto-launch starts it;\n"
    "what a flag does not say is read from the variable in parentheses.";

std::map<std::string, std::string> flags_given() {
  std::map<std::string, std::string> set;
  if (FLAGS_workers != 0) set["STRETTO_WORLD_SIZE"] = std::to_string(FLAGS_workers);
  if (FLAGS_servers != -1) set["STRETTO_SERVERS"] = std::to_string(FLAGS_servers);
  if (FLAGS_shards != 0) set["STRETTO_SHARDS"] = std::to_string(FLAGS_shards);
  if (FLAGS_rank >= 0) set["STRETTO_RANK"] = std::to_string(FLAGS_rank);
  if (!FLAGS_scheduler.empty()) set["STRETTO_SCHEDULER"] = FLAGS_scheduler;
  if (FLAGS_port != 0) set["STRETTO_SERVER_PORT"] = std::to_string(FLAGS_port);
  if (!FLAGS_bind_host.empty()) set["STRETTO_BIND_HOST"] = FLAGS_bind_host;
  if (!FLAGS_transport.empty()) set["STRETTO_TRANSPORT"] = FLAGS_transport;
  if (!FLAGS_metrics_address.empty()) set["STRETTO_METRICS_ADDRESS"] = FLAGS_metrics_address;
  return set;
}

// The shards of this process, their loops, and the first error of any of them.
class Server {
 public:
  Server(const Config& config, std::uint32_t first_port, const Clock& clock)
      : config_(config), first_port_(first_port), clock_(clock) {}

  Status start() {
    Result<std::string> host = advertised_host(config_);
    if (!host.ok()) return host.status();
    if (!checkpoint::source_of(config_.checkpoint).folder.empty()) {
      auto started = checkpoint::ThreadDiskExecutor::start();
      if (!started.ok()) return started.status();
      disk_thread_ = *std::move(started);
    }
    for (std::uint32_t index = 0; index < config_.shards; ++index) {
      Result<std::unique_ptr<Transport>> transport = make_transport(config_);
      if (!transport.ok()) return transport.status();
      Result<std::string> address = shard_address(config_, first_port_, index);
      if (!address.ok()) return address.status();
      wakeable_.push_back(transport->get());
      shards_.emplace_back(config_, index, std::move(*transport), clock_,
                           ShardPersistence::Files{.disk = &disk_, .work = disk_thread_.get()});
      Status status = shards_.back().start(*address, *host);
      if (!status.ok()) return status;
      if (!config_.metrics_address.empty()) shards_.back().set_board(board_.get());
    }
    endpoint_ = metrics::serve_if_wanted(
        config_, static_cast<std::uint32_t>(std::max<std::int64_t>(0, config_.rank)), board_);
    return {};
  }

  Status run_all() {
    std::list<std::jthread> threads;
    for (Shard& shard : shards_) threads.emplace_back([this, &shard] { run_one(shard); });
    threads.clear();  // Joins.
    // A shard that was stopped because another one had ended does not know the cause.
    Status found;
    for (const Shard& shard : shards_) {
      const bool knows_more = found.ok() || found.code() == Code::kInterrupted;
      if (!shard.status().ok() && knows_more) found = shard.status();
    }
    return found;
  }

  /// Stops the server. On SIGTERM it hands off first, if possible and unless another signal
  /// follows; some senders repeat the first one. Thread: the signals'.
  void stop(int signal) {
    const Time now = clock_.now();
    const bool first = !stop_.load(std::memory_order_acquire);
    if (first && signal == SIGTERM) {
      asked_at_ = now;
      hands_over_.store(true, std::memory_order_release);
    } else if (first || signal != SIGTERM || now - asked_at_ >= kSecondSignal) {
      at_once_.store(true, std::memory_order_release);
    }
    wake(stop_);
  }

 private:
  void wake(std::atomic<bool>& why) {
    why.store(true, std::memory_order_release);
    for (Transport* transport : wakeable_) transport->wake();
  }

  void run_one(Shard& shard) {
    drive(shard, stop_);
    if (!shard.over() && hands_over_.load(std::memory_order_acquire)) {
      shard.hand_over();
      drive(shard, at_once_);
    }
    if (!shard.over()) {
      shard.stop({Code::kInterrupted, "the server was asked to end by a signal"});
      drive(shard, std::atomic<bool>(false));
    }
    if (shard.status().ok()) return;
    at_once_.store(true, std::memory_order_release);  // An error of one shard ends the server.
    wake(stop_);
  }

  void drive(Shard& shard, const std::atomic<bool>& stop) {
    run_or_give_up(shard, clock_, stop, [&shard](Status why) { shard.stop(std::move(why)); });
  }

  const Config& config_;
  const std::uint32_t first_port_;
  const Clock& clock_;
  RealDisk disk_;
  std::list<Shard> shards_;
  std::unique_ptr<checkpoint::ThreadDiskExecutor>
      disk_thread_;  // Destroyed first: its jobs refer to shards.
  std::vector<Transport*> wakeable_;
  const std::shared_ptr<metrics::MetricsSnapshots> board_ =
      std::make_shared<metrics::MetricsSnapshots>();
  std::unique_ptr<metrics::MetricsEndpoint> endpoint_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> hands_over_{false};
  std::atomic<bool> at_once_{false};
  Time asked_at_ = {};  // Time of the first signal.
};

Status serve() {
  const SignalBlock block;
  ignore_file_limit();
  Result<Config> config = program_config(Role::kServer, flags_given());
  if (!config.ok()) return config.status();
  const Result<std::uint32_t> first_port =
      first_server_port(overlay(flags_given(), process_environment()));
  if (!first_port.ok()) return first_port.status();
  if (config->scheduler.empty()) {
    return {Code::kInvalidArgument,
            "no scheduler is named: start servers with stretto-launch, or give --scheduler "
            "host:port (STRETTO_SCHEDULER)"};
  }
  if (Status status = raise_file_limit(config->shards * (config->most_workers() + 64ULL));
      !status.ok()) {
    return status;
  }
  keep_freed_memory();

  const SteadyClock clock;
  Server server(*config, *first_port, clock);
  if (Status status = server.start(); !status.ok()) return status;
  const SignalWatcher signals(block, [&server](int signal) { server.stop(signal); });
  return server.run_all();
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  const int status = stretto::flags::start_with_flags_only(argc, argv, "server", stretto::kUsage);
  return stretto::finished(status >= 0 ? status : stretto::exit_status(stretto::serve()), "server");
}
