// SPDX-License-Identifier: Apache-2.0
// stretto-launch: starts a whole job, on this host or on many, supervises it, and exits with its
// outcome. The agent mode does the same on another host.
#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/build_version.h"
#include "common/clock.h"
#include "common/config/job_secret.h"
#include "common/config/program.h"
#include "common/config/variables.h"
#include "common/network/machine.h"
#include "tools/launch/job_runner.h"
#include "tools/launch/join/server_host.h"
#include "tools/launch/join/worker_join.h"
#include "tools/launch/plan/arguments.h"
#include "tools/launch/plan/command.h"
#include "tools/launch/plan/encryption.h"
#include "tools/launch/plan/kubernetes.h"
#include "tools/launch/plan/placement.h"
#include "tools/launch/plan/rendezvous.h"
#include "tools/launch/plan/start_methods.h"
#include "tools/launch/preflight/check.h"
#include "tools/launch/process/file_guard.h"
#include "tools/launch/process/system.h"
#include "tools/launch/python_program.h"
#include "tools/launch/remote/agent.h"
#include "tools/launch/supervision/scheduler_supervisor.h"

namespace stretto::launch {
namespace {

constexpr int kUsageStatus = 2;
constexpr int kCannotExecuteStatus = 127;

int refuse_arguments(const Status& status) {
  std::fprintf(stderr, "%s\n", arguments_line(status, "launcher").c_str());
  return kUsageStatus;
}

int refuse(Status status, std::string_view operation, int exit_status) {
  const std::string line = std::move(status).with_operation(operation).error_line("launcher", -1);
  std::fprintf(stderr, "%s\n", line.c_str());
  return exit_status;
}

// Our descriptors must not be mistaken for stdin, stdout or stderr.
void open_standard_descriptors() {
  int number = 0;
  while (number >= 0 && number <= STDERR_FILENO) number = ::open("/dev/null", O_RDWR);
  ::close(number);
}

Variables environment() {
  Variables variables;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=', 1);
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

// Warns of variables without effect; processes of the job do not repeat the warning.
void warn_of_variables(const Plan& plan, const Variables& inherited) {
  std::set<std::string> found;
  for (const auto& [name, value] : inherited) found.insert(name);
  for (const auto& [name, value] : plan.added_environment) found.insert(name);
  const std::vector<std::string> names(found.begin(), found.end());
  for (const auto& sentences : {unread_variables(names), overridden(plan, inherited)}) {
    for (const std::string& sentence : sentences) {
      std::fprintf(stderr, "[launcher] warning: %s\n", sentence.c_str());
    }
  }
}

struct Job {
  Plan plan;
  Placement placement;
  std::string directory;  // Where processes run.
};

// An elastic job starts with one worker per slot, if these are enough.
Status fit_to_slots(Plan& plan, const Variables& inherited) {
  std::uint64_t slots = slots_of(plan.hosts);
  if (via_of(plan, inherited, is_this_host) == Via::kSlurm) {
    const Result<std::optional<Allocation>> allocation = slurm_allocation(inherited);
    if (!allocation.ok()) return allocation.status();
    if (allocation->has_value()) slots = (*allocation)->part_for(plan).all_slots();
  }
  const std::uint32_t fitting = workers_that_fit(plan, slots);
  if (fitting != plan.workers) {
    std::fprintf(stderr, "[launcher] %u workers at most, and there are %u slots: the job has %u\n",
                 plan.workers, fitting, fitting);
  }
  plan.workers = fitting;
  return {};
}

// On other hosts the folder may exist although this host has none.
Status enter_directory(Job& job) {
  std::error_code error;
  const bool used_here = job.placement.members_at(0).size() > 1 || job.placement.only_here();
  if (!job.directory.empty() && used_here) std::filesystem::current_path(job.directory, error);
  if (error) {
    return {Code::kInvalidArgument, "--chdir is '" + job.directory + "': " + error.message()};
  }
  if (job.directory.empty() || used_here) job.directory = std::filesystem::current_path(error);
  return {};
}

// Adds settings from the environment to the command line.
Result<Job> settled(Plan plan, const Variables& inherited) {
  if (Status status = require_one_launcher(plan, inherited); !status.ok()) return status;
  const StartMethod method = method_of(via_of(plan, inherited, is_this_host));
  if (Status status = check_flags(plan, method, is_this_host); !status.ok()) return status;
  for (const char* name : {"STRETTO_INTERFACE", "DMLC_INTERFACE"}) {
    const auto found = inherited.find(name);
    if (plan.interface.empty() && found != inherited.end()) plan.interface = found->second;
  }
  if (!plan.workers_given && via_of(plan, inherited, is_this_host) == Via::kSlurm) {
    const Result<std::optional<Allocation>> allocation = slurm_allocation(inherited);
    if (!allocation.ok()) return allocation.status();
    if (allocation->has_value()) plan.workers = (*allocation)->all_slots();
  }
  if (Status status = fit_to_slots(plan, inherited); !status.ok()) return status;
  if (plan.checkpoint.empty()) plan.checkpoint = told(plan, inherited, "STRETTO_CHECKPOINT");
  if (Status status = check_checkpoints(plan); !status.ok()) return status;
  // A scheduler that is suspended for less than `dead_after` is not lost and answers again.
  plan.limits.word =
      time_told(plan, inherited, "STRETTO_DEAD_AFTER_S", JobSettings().dead_after) + 1s;
  // A restarted worker retries for `rendezvous_timeout`, as a new one does.
  plan.limits.again = plan.limits.word + time_told(plan, inherited, "STRETTO_RENDEZVOUS_TIMEOUT_S",
                                                   Config().rendezvous_timeout);
  std::error_code error;
  if (!plan.log_directory.empty()) {
    plan.log_directory = std::filesystem::absolute(plan.log_directory, error).string();
  }
  Result<Placement> placement = place(plan, inherited, is_this_host);
  if (!placement.ok()) return placement.status();
  const bool one_host = mpirun_stays_here(plan, inherited, is_this_host);
  if (Status status = check_encryption(plan, placement->via, one_host, inherited); !status.ok()) {
    return status;
  }
  plan.encrypt = is_to_be_encrypted(plan, inherited);
  Job job{std::move(plan), std::move(*placement), {}};
  job.directory = job.plan.directory;
  if (Status status = enter_directory(job); !status.ok()) return status;
  return job;
}

// The restarted job, placed on other hosts if a host was lost.
Result<Job> placed_anew(Job job, Plan plan, const Variables& inherited) {
  const bool moved = plan.hosts != job.plan.hosts || plan.server_hosts != job.plan.server_hosts ||
                     plan.scheduler_host != job.plan.scheduler_host;
  const bool elsewhere = moved && !job.plan.hosts.empty() && plan.hosts.empty();
  if (elsewhere) return Status(Code::kInvalidArgument, "no host is left");
  job.plan = std::move(plan);
  if (!moved) return job;
  if (Status status = fit_to_slots(job.plan, inherited); !status.ok()) return status;
  Result<Placement> placement = place(job.plan, inherited, is_this_host);
  if (!placement.ok()) return placement.status();
  job.placement = std::move(*placement);
  if (Status status = enter_directory(job); !status.ok()) return status;
  return job;
}

// The next attempt, if any; if it is impossible, the cause goes to `next.notes`.
std::optional<Job> another_attempt(const Job& job, Next& next, const Variables& inherited) {
  if (!next.plan) return std::nullopt;
  Result<Job> again = placed_anew(job, *std::move(next.plan), inherited);
  if (again.ok()) return *std::move(again);
  next.notes = {"the job does not begin again: " + again.status().cause()};
  return std::nullopt;
}

// Files in this user's folders that a killed launcher leaves behind.
std::vector<std::string> own_files() {
  const std::vector<std::string> folders = job_folders(process_environment());
  std::vector<std::string> paths = own_job_files(folders);
  std::ranges::move(SchedulerSupervisor::own_files(folders), std::back_inserter(paths));
  return paths;
}

int run_job(Job job, const Variables& inherited) {
  const FileGuard guard(own_files());
  const SteadyClock clock;
  Signals signals;
  for (bool first = true;; first = false) {
    Result<Programs> programs = find_programs(job.plan, job.placement, inherited);
    if (!programs.ok()) return refuse(programs.status(), "start", kCannotExecuteStatus);
    // A new token for each attempt: processes lost to an earlier attempt cannot join.
    Result<std::string> token = job_token(inherited);
    if (!token.ok()) return refuse(token.status(), "start", 1);
    const LaunchContext ingredients{inherited, *programs, *token, job.placement, job.directory};
    JobRunner runner(job.plan, ingredients, signals, clock, first);
    const AttemptOutcome outcome = runner.run();
    Next next = next_after(job.plan, outcome);
    std::optional<Job> again = another_attempt(job, next, inherited);
    if (again) {
      runner.conclude(next.notes, {});
      job = *std::move(again);
      if (!signals.asked_to_end()) continue;
      next.notes.clear();  // Already printed.
    }
    runner.conclude(next.notes, outcome.verdict);
    return outcome.verdict.exit_status;
  }
}

int show_job(const Job& job, const Variables& inherited) {
  const Result<std::string> directory = program_directory(job.plan, inherited);
  if (!directory.ok()) return refuse(directory.status(), "start", 1);
  const Programs programs{*directory + "/stretto-scheduler", *directory + "/stretto-server",
                          job.plan.command.front(), *directory + "/stretto-launch"};
  const Result<std::string> text = preview(job.plan, job.placement, programs, inherited);
  if (!text.ok()) return refuse(text.status(), "start", 1);
  std::fputs(text->c_str(), stdout);
  return 0;
}

int check_job(const Job& job, const Variables& inherited) {
  int problems = 0;
  for (const Finding& finding :
       check(job.plan, job.placement, job.directory, inherited, SteadyClock())) {
    std::printf("%s %s\n", finding.fine ? "ok     " : "PROBLEM", finding.text.c_str());
    problems += finding.fine ? 0 : 1;
  }
  std::fflush(stdout);
  if (problems == 0) return 0;
  return refuse({Code::kInvalidArgument, "the launch cannot work; problems are listed above"},
                "check", 1);
}

int print_manifests(Plan plan, const Variables& inherited) {
  for (const Status& status :
       {check_flags(plan, StartMethod::kKubernetes, is_this_host), check_checkpoints(plan)}) {
    if (!status.ok()) return refuse_arguments(status);
  }
  // Kubernetes passes the token to pods.
  if (Status status = check_encryption(plan, Via::kLocal, true, inherited); !status.ok()) {
    return refuse_arguments(status);
  }
  plan.encrypt = is_to_be_encrypted(plan, inherited);
  const auto token = inherited.find("STRETTO_JOB_TOKEN");
  const Result<std::string> text =
      manifests(plan, token == inherited.end() ? std::string() : token->second);
  if (!text.ok()) return refuse_arguments(text.status());
  std::fputs(text->c_str(), stdout);
  return 0;
}

// The launcher's own folder counts, whatever --bin-dir says. Pods have their own Python.
std::string python_of(Action action, const Variables& inherited) {
  const Result<std::string> folder = program_directory({}, {});
  if (action == Action::kPrint || !folder.ok()) return "python3";
  return python_beside(*folder, value_of(inherited, "VIRTUAL_ENV"));
}

// How workers run PROGRAM. Its file is checked if some worker starts on this host.
Status choose_python(Job& job, const Variables& inherited) {
  Plan& plan = job.plan;
  if (plan.no_python) return {};
  const std::string python = python_of(plan.action, inherited);
  const std::vector<JobMember> members = members_of(plan);
  const bool here = std::ranges::any_of(job.placement.members_at(0), [&](std::size_t member) {
    return members[member].role == Role::kWorker;
  });
  if (!here || plan.action == Action::kDryRun) {
    plan.command = under_python(std::move(plan.command), plan.module, python);
    return {};
  }
  Result<std::vector<std::string>> command = under_python_here(
      std::move(plan.command), plan.module, python, told(plan, inherited, "PATH"));
  if (!command.ok()) return command.status();
  plan.command = *std::move(command);
  return {};
}

// This process becomes the worker, with its signals, output and exit status.
int join_job(std::span<const std::string> words, const Variables& inherited) {
  const Result<Joining> joining =
      joining_from(words, inherited, known_jobs(job_folders(process_environment())));
  if (!joining.ok()) return refuse_arguments(joining.status());
  for (const auto& [name, value] : joining->given) ::setenv(name.c_str(), value.c_str(), 1);
  Result<std::vector<std::string>> program = under_python_here(
      joining->command, false, python_of(Action::kRun, inherited), value_of(inherited, "PATH"));
  if (!program.ok()) return refuse(program.status(), "start", kCannotExecuteStatus);
  std::vector<char*> command;
  for (std::string& word : *program) command.push_back(word.data());
  command.push_back(nullptr);
  ::execvp(command.front(), command.data());
  return refuse({Code::kInvalidArgument,
                 fmt::format("'{}' cannot be executed: {}", command.front(), ::strerror(errno))},
                "start", kCannotExecuteStatus);
}

// This process is the parent of the servers that join the job.
int join_servers(std::span<const std::string> words, const Variables& inherited) {
  const Result<ServerJoin> wish = servers_wish(words);
  if (!wish.ok()) return refuse_arguments(wish.status());
  const Environment variables = process_environment();
  const Result<bool> encrypts = encrypts_told(variables);
  if (!encrypts.ok()) return refuse_arguments(encrypts.status());
  const Result<observe::Target> job =
      observe::target_of(known_jobs(job_folders(variables)), wish->scheduler,
                         value_of(inherited, "STRETTO_JOB_TOKEN"), *encrypts, zmq_told(variables));
  if (!job.ok()) return refuse_arguments(job.status());
  const std::string machine = value_of(inherited, "STRETTO_MACHINE");
  const SteadyClock clock;
  Status status = run_servers(*wish, *job, inherited,
                              machine.empty() ? this_machine() : machine_named(machine), clock);
  return status.ok() ? 0 : refuse(std::move(status), "join", 1);
}

Status check_nodes(const Plan& plan, const Variables& inherited) {
  if (Status status = check_flags(plan, StartMethod::kNodes, is_this_host); !status.ok()) {
    return status;
  }
  if (Status status = check_encryption(plan, Via::kNodes, false, inherited); !status.ok()) {
    return status;
  }
  return check_token_of_nodes(value_of(inherited, "STRETTO_JOB_TOKEN"));
}

// -1: node 0 assigns the rank.
std::int64_t node_of(const Plan& plan) {
  if (plan.node_rank) return std::int64_t{*plan.node_rank};
  return resolves_to_this_host(plan.meeting_point.host) ? 0 : -1;
}

int run_other_node(const Plan& plan, std::int64_t node, const Variables& inherited) {
  return run_node(inherited, plan.meeting_point, value_of(inherited, "STRETTO_JOB_TOKEN"),
                  node < 0 ? node : node - 1, plan.limits.start, SteadyClock());
}

int launch(std::span<const std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "join") {
    arguments = arguments.subspan(1);
    const bool servers = wants_servers(arguments);
    const bool asks = servers && std::ranges::any_of(arguments, [](const std::string& word) {
                        return word == "--help" || word == "-h";
                      });
    if (!asks && servers) return join_servers(arguments, environment());
    if (!asks) return join_job(arguments, environment());
    static const std::vector<std::string> kHelp{"--help"};
    arguments = kHelp;
  }
  Result<Plan> plan = parse_arguments(arguments, read_file);
  if (!plan.ok()) return refuse_arguments(plan.status());
  const Variables inherited = environment();
  switch (plan->action) {
    case Action::kAgent:
      return run_agent(inherited, SteadyClock());
    case Action::kPrint:
      warn_of_variables(*plan, inherited);
      if (!plan->no_python) {
        plan->command = under_python(std::move(plan->command), plan->module,
                                     python_of(plan->action, inherited));
      }
      return print_manifests(*plan, inherited);
    case Action::kHelp:
      std::fputs(std::string(help_text()).c_str(), stdout);
      return 0;
    case Action::kVersion:
      std::printf("stretto-launch %s\n", build_version().c_str());
      return 0;
    case Action::kRun:
    case Action::kDryRun:
    case Action::kCheck:
      break;
  }
  if (plan->via == Via::kNodes) {
    if (Status status = check_nodes(*plan, inherited); !status.ok())
      return refuse_arguments(status);
    const std::int64_t node = node_of(*plan);
    if (node != 0) return run_other_node(*plan, node, inherited);
  }
  Result<Job> job = settled(*plan, inherited);
  warn_of_variables(job.ok() ? job->plan : *plan, inherited);
  if (!job.ok()) return refuse_arguments(job.status());
  if (Status status = choose_python(*job, inherited); !status.ok()) {
    return refuse(std::move(status), "start", kCannotExecuteStatus);
  }
  if (plan->action == Action::kDryRun) return show_job(*job, inherited);
  return plan->action == Action::kCheck ? check_job(*job, inherited) : run_job(*job, inherited);
}

}  // namespace
}  // namespace stretto::launch

int main(int argc, char** argv) {
  stretto::launch::open_standard_descriptors();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return stretto::finished(stretto::launch::launch(arguments), "launcher");
}
