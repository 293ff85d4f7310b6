// SPDX-License-Identifier: Apache-2.0
// stretto-scheduler: the program. Flags first, then STRETTO_* and DMLC_* variables.
#include <fmt/core.h>
#include <gflags/gflags.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>

#include "common/config/job_file.h"
#include "common/config/program.h"
#include "common/files/real_disk.h"
#include "common/flags/flags.h"
#include "common/log.h"
#include "common/network/network.h"
#include "common/process/signals.h"
#include "observe/metrics/endpoint.h"
#include "scheduler/checkpoint/checkpoint_keeper.h"
#include "scheduler/dashboard/page.h"
#include "scheduler/launcher/exit_notices.h"
#include "scheduler/launcher/status_pipe.h"
#include "scheduler/metrics_file.h"
#include "scheduler/scheduler.h"
#include "scheduler/status_publisher.h"
#include "van/transports.h"

DEFINE_int32(workers, 0, "workers in the job (STRETTO_WORLD_SIZE)");
DEFINE_int32(servers, -1, "servers in the job (STRETTO_SERVERS)");
DEFINE_int32(shards, 0, "shards of each server (STRETTO_SHARDS)");
DEFINE_int32(
    min_workers, 0,
    "workers with which the job goes on when others are lost (STRETTO_MIN_WORKERS); default "
    "0: a lost worker ends it");
DEFINE_string(address, "", "HOST:PORT: to listen at (STRETTO_SCHEDULER); default 127.0.0.1:0");
DEFINE_string(bind_host, "", "ADDRESS: to bind, if not that of --address (STRETTO_BIND_HOST)");
DEFINE_string(metrics_address, "", "HOST:PORT: of metrics (STRETTO_METRICS_ADDRESS); default none");
DEFINE_string(page_address, "", "HOST:PORT: of the live page (STRETTO_PAGE_ADDRESS); default none");
DEFINE_int32(
    ready_fd, -1,
    "file descriptor for the address once it is bound, and for how the job comes together; a "
    "socket is also read, for the ends of processes");

namespace stretto {
namespace {

constexpr char kUsage[] =
    "usage: stretto-scheduler [FLAG]...\n\n"
    "The coordinator of a Stretto job: says who takes part and who is lost. stretto-launch starts\n"
    "it; what a flag does not say is read from the variable in parentheses.";

std::map<std::string, std::string> flags_given() {
  std::map<std::string, std::string> set;
  if (FLAGS_workers != 0) set["STRETTO_WORLD_SIZE"] = std::to_string(FLAGS_workers);
  if (FLAGS_servers != -1) set["STRETTO_SERVERS"] = std::to_string(FLAGS_servers);
  if (FLAGS_shards != 0) set["STRETTO_SHARDS"] = std::to_string(FLAGS_shards);
  if (FLAGS_min_workers != 0) set["STRETTO_MIN_WORKERS"] = std::to_string(FLAGS_min_workers);
  if (!FLAGS_address.empty()) set["STRETTO_SCHEDULER"] = FLAGS_address;
  if (!FLAGS_bind_host.empty()) set["STRETTO_BIND_HOST"] = FLAGS_bind_host;
  if (!FLAGS_metrics_address.empty()) set["STRETTO_METRICS_ADDRESS"] = FLAGS_metrics_address;
  if (!FLAGS_page_address.empty()) set["STRETTO_PAGE_ADDRESS"] = FLAGS_page_address;
  return set;
}

Result<std::string> listen_address(const Config& config) {
  if (config.scheduler.empty()) return HostPort{config.bind_host, 0}.text();
  Result<HostPort> address = parse_host_port(config.scheduler);
  if (!address.ok()) return address.status();
  return HostPort{config.bind_host, address->port}.text();
}

// The job runs even if its page cannot be served: the error is logged.
std::unique_ptr<Page> page_if_wanted(const Config& config,
                                     const std::shared_ptr<PageSnapshots>& board) {
  if (config.page_address.empty()) return nullptr;
  Result<std::unique_ptr<Page>> page = serve_page(config, board);
  if (!page.ok()) {
    log(Level::kWarning, "no live page: {}", page.status().cause());
    return nullptr;
  }
  log(Level::kInfo, "live page at http://{}/", (*page)->address());
  return std::move(*page);
}

// A launcher that waits for the address records the job itself, on its own host.
void write_down(JobFile& file, const Config& config, const std::string& address) {
  if (FLAGS_ready_fd >= 0) return;
  const KnownJob job{.name = "stretto-scheduler",
                     .scheduler = reachable_address(address),
                     .command = "stretto-scheduler",
                     .workers = config.workers,
                     .servers = config.servers,
                     .started_s = std::time(nullptr),
                     .process = 0,
                     .encrypts = config.encrypts,
                     .zmq = config.links_by_zmq(),
                     .token = config.token};
  if (Status status = file.write(job, job_folders(process_environment())); !status.ok()) {
    log(Level::kInfo, "stretto-top will want this address and the token: {}", status.cause());
  }
}

// Current workers that the launcher has not started: its own have lower numbers.
std::uint32_t guests_in(const View& view, const Config& config) {
  const Rank started = config.workers + config.restarts;
  return static_cast<std::uint32_t>(std::ranges::count_if(view.members, [&](const auto& item) {
    const Member& member = item.second;
    return member.role == Role::kWorker && !member.left && member.number() >= started;
  }));
}

// Current workers that the launcher has started as replacements.
std::vector<Rank> replacements_in(const View& view, const Config& config) {
  std::vector<Rank> numbers;
  for (const auto& [node, member] : view.members) {
    const Rank number = member.number();
    const bool replaces = number >= config.workers && number < config.workers + config.restarts;
    if (member.role == Role::kWorker && !member.left && replaces) numbers.push_back(number);
  }
  return numbers;
}

std::string this_process() {
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  return fmt::format("the job whose scheduler is process {} on {}", ::getpid(), host.data());
}

// Reveals a forgotten call before a checkpoint is needed.
void warn_of_no_checkpoint(const Scheduler& scheduler, const Config& config) {
  const bool none =
      !config.checkpoint.folder.empty() && !scheduler.watch().saved() && config.job.restored == 0;
  if (!none || !scheduler.status().ok() ||
      gathering_of(scheduler.machine()) != JobFormation::kComplete)
    return;
  log(Level::kWarning,
      "the job has made no checkpoint in '{}': its program asked for none (Checkpoints::save, "
      "stretto.torch.checkpoint), or none came due",
      config.checkpoint.folder);
}

// In the folder of the job's new checkpoints.
std::optional<SavedCheckpoint> newest_saved(const Scheduler& scheduler, const Config& config) {
  const bool is_here = config.job.restored != 0 && config.checkpoint.source.empty();
  if (scheduler.watch().saved() || !is_here) return scheduler.watch().saved();
  return SavedCheckpoint{
      .number = config.job.restored, .step = config.job.restored_step, .is_made = false};
}

StatusPipe::Changes changes_told(const Scheduler& scheduler, const Config& config) {
  StatusPipe::Changes changes;
  if (config.job.elastic() || config.job.servers_replaced()) {
    changes.losses = [&scheduler]() -> const std::vector<LossReport>& {
      return scheduler.watch().loss_news();
    };
  }
  if (config.job.servers_move()) {
    changes.moves = [&scheduler]() -> const std::vector<MigrationOrder>& {
      return scheduler.moves().orders();
    };
  }
  if (config.job.elastic()) {
    changes.replacements = [&] { return replacements_in(scheduler.view(), config); };
    changes.missed = [&scheduler]() -> const std::vector<Rank>& {
      return scheduler.watch().missed_workers();
    };
    changes.leavers = [&scheduler]() -> const std::vector<Rank>& {
      return scheduler.watch().left_workers();
    };
    changes.guests = [&] { return guests_in(scheduler.view(), config); };
  }
  if (!config.scheduler_return.journal.empty()) changes.life = StatusPipe::kLifeEvery;
  if (!config.checkpoint.folder.empty())
    changes.saved = [&scheduler, &config] { return newest_saved(scheduler, config); };
  return changes;
}

// Only the first scheduler looks for a checkpoint to restore: there may be newer ones since.
Result<RecoveredState> past_of_job(Config& config, Disk& disk, std::set<std::string>& restored) {
  Result<RecoveredState> past = past_of(config, disk, restored);
  if (!past.ok() || !past->records.empty()) return past;
  Status status = go_on_from_newest(config, disk, restored);
  return status.ok() ? std::move(past) : Result<RecoveredState>(std::move(status));
}

std::uint64_t most_nodes(const Config& config) {
  return config.most_workers() + std::uint64_t{config.server_processes()} * config.shards;
}

// For the metrics file, whose disk must not delay checkpoints; null: none.
Result<std::unique_ptr<checkpoint::ThreadDiskExecutor>> thread_for_metrics(const Config& config) {
  if (config.metrics_file.empty()) return std::unique_ptr<checkpoint::ThreadDiskExecutor>();
  return checkpoint::ThreadDiskExecutor::start();
}

void tell_address(const Config& config, const std::string& address) {
  log(Level::kInfo, "listening at {} (links between hosts: {})", address, link_choice(config));
  if (config.transport == TransportChoice::kZmq) {
    log(Level::kInfo,
        "STRETTO_TRANSPORT=zmq now means libzmq; our own sockets, which it meant before, are tcp");
  }
}

Status serve() {
  const SignalBlock block;
  ignore_file_limit();
  Result<Config> config = program_config(Role::kScheduler, flags_given());
  if (!config.ok()) return config.status();
  if (Status status = raise_file_limit(most_nodes(*config) + 64); !status.ok()) return status;

  RealDisk disk;
  const Result<std::unique_ptr<FileHold>> folder = hold_folder(*config, disk, this_process());
  if (!folder.ok()) return folder.status();
  std::set<std::string> restored;
  Result<RecoveredState> past = past_of_job(*config, disk, restored);
  if (!past.ok()) return past.status();
  const std::vector<JournalRecord> records = std::move(past->records);
  Result<std::unique_ptr<checkpoint::ThreadDiskExecutor>> disk_thread =
      checkpoint::ThreadDiskExecutor::start();
  if (!disk_thread.ok()) return disk_thread.status();

  std::atomic<bool> stop{false};
  const SteadyClock clock;
  Result<std::unique_ptr<Transport>> transport = make_transport(0, link_settings(*config));
  if (!transport.ok()) return transport.status();
  Transport& wakeable = **transport;
  ExitNotices ends(FLAGS_ready_fd);
  Scheduler scheduler(*config, std::move(*transport), clock, &ends,
                      {.disk = &disk, .work = disk_thread->get(), .restored = std::move(restored)},
                      *std::move(past));
  if (!records.empty()) {
    if (Status status = scheduler.recover(records); !status.ok()) return status;
  }
  // Destroyed before the objects that it wakes.
  const SignalWatcher signals(block, [&stop, &wakeable](int) {
    stop.store(true, std::memory_order_release);
    wakeable.wake();
  });
  Result<std::string> address = listen_address(*config);
  if (address.ok()) address = scheduler.listen(*address);
  if (!address.ok()) return address.status();
  tell_address(*config, *address);
  JobFile job_file;
  write_down(job_file, *config, *address);

  const auto board = std::make_shared<metrics::MetricsSnapshots>();
  const auto shown = std::make_shared<PageSnapshots>();
  const std::unique_ptr<metrics::MetricsEndpoint> endpoint =
      metrics::serve_if_wanted(*config, 0, board);
  const std::unique_ptr<Page> page = page_if_wanted(*config, shown);
  StatusPublisher outlook(scheduler, config->metrics_address.empty() ? nullptr : board.get(),
                          page == nullptr ? nullptr : shown.get(), clock);
  auto metrics_thread = thread_for_metrics(*config);
  if (!metrics_thread.ok()) return metrics_thread.status();
  MetricsFile agent(
      config->metrics_file, disk, metrics_thread->get(), outlook,
      [&scheduler, &clock] { return scheduler.watch().metrics(clock.now()); }, clock);
  StatusPipe ready(
      FLAGS_ready_fd, agent, [&scheduler] { return gathering_of(scheduler.machine()); }, clock,
      changes_told(scheduler, *config));
  if (Status status = ready.tell_address(*address); !status.ok()) return status;
  const auto give_up = [&scheduler](Status why) {
    scheduler.stop(std::move(why).with_peer("scheduler"));
  };
  run_or_give_up(ready, clock, stop, give_up);
  if (!scheduler.over()) {
    scheduler.stop(Status(Code::kInterrupted, "the scheduler was asked to end by a signal")
                       .with_peer("scheduler"));
    run_or_give_up(scheduler, clock, std::atomic<bool>(false), give_up);
  }
  warn_of_no_checkpoint(scheduler, *config);
  return scheduler.status();
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  const int status =
      stretto::flags::start_with_flags_only(argc, argv, "scheduler", stretto::kUsage);
  return stretto::finished(status >= 0 ? status : stretto::exit_status(stretto::serve()),
                           "scheduler");
}
