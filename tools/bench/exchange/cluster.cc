// SPDX-License-Identifier: Apache-2.0
// The command line of stretto-launch, and the two pipes that the workers inherit through it.
#include "tools/bench/exchange/cluster.h"

#include <fmt/core.h>
#include <signal.h>

#include "common/config/config.h"
#include "tools/bench/support/processes.h"
#include "tools/bench/support/run_command.h"
#include "tools/bench/support/system.h"

namespace stretto::bench {
namespace {

std::vector<std::string> command_of(const Settings& settings, const std::string& launcher,
                                    const std::vector<std::string>& flags) {
  std::vector<std::string> command{launcher};
  const auto flag = [&command](const std::string& name, const std::string& value) {
    command.push_back("--" + name);
    command.push_back(value);
  };
  flag("workers", std::to_string(settings.workers));
  flag("servers", std::to_string(settings.servers));
  flag("shards", std::to_string(settings.shards));
  flag("settle", "5");
  flag("grace", "3");
  if (settings.part_bytes != 0) {
    flag("env", fmt::format("STRETTO_PART_BYTES={}", settings.part_bytes));
  }
  if (!settings.transport.empty())
    flag("env", fmt::format("STRETTO_TRANSPORT={}", settings.transport));
  if (!process_environment()("STRETTO_LOG_LEVEL")) flag("env", "STRETTO_LOG_LEVEL=warning");
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

}  // namespace

Cluster::Cluster(std::uint32_t workers, ReportPipe pipe, Descriptor hold, Child launcher)
    : workers_(workers),
      pipe_(std::move(pipe)),
      hold_(std::move(hold)),
      launcher_(std::move(launcher)) {}

Result<std::unique_ptr<Cluster>> Cluster::start(const Settings& settings,
                                                const std::vector<std::string>& words,
                                                const std::vector<std::string>& flags) {
  const Result<std::string> own = own_path();
  if (!own.ok()) return own.status();
  Result<ReportPipe> pipe = ReportPipe::open();
  if (!pipe.ok()) return pipe.status();
  Result<Pipe> hold = Pipe::open();
  if (!hold.ok()) return hold.status();
  const Descriptor until = inheritable(hold->read);
  const Result<std::string> launcher_path = program_path("stretto-launch");
  if (!launcher_path.ok()) return launcher_path.status();
  std::vector<std::string> command = command_of(settings, *launcher_path, flags);
  command.insert(command.end(), {"--", *own, "worker-role"});
  command.insert(command.end(), words.begin(), words.end());
  command.insert(command.end(), {"--report_fd", std::to_string(pipe->write_end()), "--until_fd",
                                 std::to_string(until.get())});
  Result<Child> launcher = Child::start(SIGTERM, [&command] { return become(command); });
  if (!launcher.ok()) return launcher.status();
  return std::unique_ptr<Cluster>(new Cluster(settings.workers, *std::move(pipe),
                                              std::move(hold->write), *std::move(launcher)));
}

Status Cluster::await_reports(std::size_t count, Time deadline) {
  return pipe_.await(count, {&launcher_}, deadline);
}

Status Cluster::hold(Time until) {
  const std::optional<int> status = launcher_.wait(until);
  if (!status) return {};
  return {Code::kPeerLost, fmt::format("the cluster ended with status {} before it was told to; "
                                       "what it said is above",
                                       *status)};
}

Status Cluster::end(Time deadline) {
  hold_.close();
  const std::optional<int> status = launcher_.wait(deadline);
  if (status == 0) return {};
  if (!status) return {Code::kTimeout, "the cluster has not ended in time"};
  return {Code::kPeerLost,
          fmt::format("the cluster ended with status {}; what it said is above", *status)};
}

}  // namespace stretto::bench
