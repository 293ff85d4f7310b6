// SPDX-License-Identifier: Apache-2.0
// stretto-scheduler: the program. Flags first, then STRETTO_* and DMLC_* variables.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

#include "common/log.h"
#include "common/network.h"
#include "common/program.h"
#include "common/signals.h"
#include "common/version.h"
#include "scheduler/scheduler.h"
#include "van/transports.h"

DEFINE_int32(workers, 0, "Workers in the job (STRETTO_WORLD_SIZE)");
DEFINE_int32(servers, 0, "Servers in the job (STRETTO_SERVERS)");
DEFINE_int32(shards, 0, "Shards of each server (STRETTO_SHARDS)");
DEFINE_string(address, "", "host:port to listen at (STRETTO_SCHEDULER); default 127.0.0.1:0");
DEFINE_string(bind_host, "", "Address to bind, if not that of --address (STRETTO_BIND_HOST)");
DEFINE_int32(ready_fd, -1, "File descriptor that the address is written to once it is bound");

namespace stretto {
namespace {

std::map<std::string, std::string> flags_given() {
  std::map<std::string, std::string> set;
  if (FLAGS_workers != 0) set["STRETTO_WORLD_SIZE"] = std::to_string(FLAGS_workers);
  if (FLAGS_servers != 0) set["STRETTO_SERVERS"] = std::to_string(FLAGS_servers);
  if (FLAGS_shards != 0) set["STRETTO_SHARDS"] = std::to_string(FLAGS_shards);
  if (!FLAGS_address.empty()) set["STRETTO_SCHEDULER"] = FLAGS_address;
  if (!FLAGS_bind_host.empty()) set["STRETTO_BIND_HOST"] = FLAGS_bind_host;
  return set;
}

Result<std::string> listen_address(const Config& config) {
  if (config.scheduler.empty()) return config.bind_host + ":0";
  Result<HostPort> address = parse_host_port(config.scheduler);
  if (!address.ok()) return address.status();
  return fmt::format("{}:{}", config.bind_host, address->port);
}

Status tell_ready(const std::string& address) {
  log(Level::kInfo, "listening at {}", address);
  if (FLAGS_ready_fd < 0) return {};
  const std::string line = address + "\n";
  if (write(FLAGS_ready_fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return {Code::kInvalidArgument, fmt::format("--ready_fd {} cannot be written to: {}",
                                                FLAGS_ready_fd, std::strerror(errno))};
  }
  close(FLAGS_ready_fd);
  return {};
}

Status serve() {
  Result<Config> config = program_config(Role::kScheduler, flags_given());
  if (!config.ok()) return config.status();
  const std::uint64_t nodes = config->workers + std::uint64_t{config->servers} * config->shards;
  if (Status status = raise_file_limit(nodes + 64); !status.ok()) return status;

  std::atomic<bool> stop{false};
  const SteadyClock clock;
  Result<std::unique_ptr<Transport>> transport = make_transport(0);
  if (!transport.ok()) return transport.status();
  Transport& wakeable = **transport;
  const SignalWatcher signals([&stop, &wakeable](int) {
    stop.store(true, std::memory_order_release);
    wakeable.wake();
  });
  Scheduler scheduler(*config, std::move(*transport), clock);
  Result<std::string> address = listen_address(*config);
  if (address.ok()) address = scheduler.listen(*address);
  if (!address.ok()) return address.status();
  if (Status status = tell_ready(*address); !status.ok()) return status;

  run(scheduler, clock, stop);
  if (!scheduler.over()) {
    scheduler.stop(Status(Code::kInterrupted, "the scheduler was asked to end by a signal"));
    run(scheduler, clock, std::atomic<bool>(false));
  }
  return scheduler.status();
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  gflags::SetUsageMessage("the coordinator of a Stretto job");
  gflags::SetVersionString(stretto::kVersion);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  return stretto::exit_status(stretto::serve());
}
