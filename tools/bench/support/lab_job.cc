// SPDX-License-Identifier: Apache-2.0
// Runs a user's processes, with the environment of docs/CONFIGURATION.md. Each host has its own
// port space, so the scheduler's port is fixed.
#include "tools/bench/support/lab_job.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <cstdio>

#include "common/config/config.h"
#include "tools/bench/support/child.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/processes.h"
#include "tools/bench/support/report_pipe.h"
#include "tools/bench/support/run_command.h"

namespace stretto::bench {
namespace {

constexpr int kPort = 9700;

class Processes {
 public:
  Processes(const Netlab& lab, const LabJob& job) : lab_(lab), job_(job) {}

  Status start(const LabPlan::Host& host, std::string_view role, std::uint32_t rank,
               std::vector<std::string> command) {
    return children_.start([&] {
      if (const Status status = Netlab::enter(host); !status.ok()) {
        std::fprintf(stderr, "%s\n", status.text().c_str());
        return 1;
      }
      set_environment(host, role, rank);
      return become(std::move(command));
    });
  }

  std::vector<Child*> all() { return children_.all(); }

  Status await(Time deadline) {
    for (Child* child : all()) {
      const std::optional<int> status = child->wait(deadline);
      if (status == 0) continue;
      if (!status) return {Code::kTimeout, "the job has not ended in time"};
      return {Code::kPeerLost,
              fmt::format("a process ended with status {}; what it said is above", *status)};
    }
    return {};
  }

 private:
  // Runs in a process that has just been forked.
  void set_environment(const LabPlan::Host& host, std::string_view role, std::uint32_t rank) const {
    const auto set = [](const std::string& name, const std::string& value) {
      ::setenv(name.c_str(), value.c_str(), 1);
    };
    if (!process_environment()("STRETTO_LOG_LEVEL")) set("STRETTO_LOG_LEVEL", "warning");
    set("STRETTO_ROLE", std::string(role));
    set("STRETTO_RANK", std::to_string(rank));
    set("STRETTO_WORLD_SIZE", std::to_string(job_.workers));
    set("STRETTO_SERVERS", std::to_string(job_.servers));
    set("STRETTO_SHARDS", "1");
    set("STRETTO_SCHEDULER", fmt::format("{}:{}", lab_.sender().address, kPort));
    set("STRETTO_BIND_HOST", host.address);
    set("STRETTO_NODE_HOST", host.address);
    set("STRETTO_JOB_TOKEN", "job-in-a-lab-of-its-own");  // These networks are isolated.
    set("STRETTO_TRANSPORT", "tcp");
    for (const auto& [name, value] : job_.variables) set(name, value);
  }

  const Netlab& lab_;
  const LabJob& job_;
  Children children_;
};

}  // namespace

Result<std::vector<Report>> run_in(const Netlab& lab, const LabJob& job, Duration patience) {
  const Time deadline = now() + patience;
  Result<ReportPipe> pipe = ReportPipe::open();
  if (!pipe.ok()) return pipe.status();
  const Result<std::string> own = own_path();
  if (!own.ok()) return own.status();
  const Result<std::string> scheduler = program_path("stretto-scheduler");
  const Result<std::string> server = program_path("stretto-server");
  Processes processes(lab, job);
  const auto host = [&](std::uint32_t member) -> const LabPlan::Host& {
    return lab.receivers()[job.hosts.empty() ? member : job.hosts[member]];
  };
  Status status = processes.start(lab.sender(), "scheduler", 0, {*scheduler});
  for (std::uint32_t i = 0; i < job.servers && status.ok(); ++i) {
    status = processes.start(host(job.workers + i), "server", i, {*server});
  }
  std::vector<std::string> command{*own, "worker-role"};
  command.insert(command.end(), job.task.begin(), job.task.end());
  command.insert(command.end(), {"--report_fd", std::to_string(pipe->write_end())});
  for (std::uint32_t i = 0; i < job.workers && status.ok(); ++i) {
    status = processes.start(host(i), "worker", i, command);
  }
  if (status.ok()) status = pipe->await(job.reports, processes.all(), deadline);
  if (status.ok()) status = processes.await(deadline);
  if (!status.ok()) return status;
  return pipe->reports();
}

}  // namespace stretto::bench
