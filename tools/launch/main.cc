// SPDX-License-Identifier: Apache-2.0
// stretto-launch: starts a whole job on this host, watches it, and ends with its outcome.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "common/clock.h"
#include "common/version.h"
#include "tools/launch/arguments.h"
#include "tools/launch/check.h"
#include "tools/launch/command.h"
#include "tools/launch/runner.h"
#include "tools/launch/system.h"

namespace stretto::launch {
namespace {

constexpr int kUsageStatus = 2;
constexpr int kCannotExecuteStatus = 127;

int refuse(Status status, std::string_view operation, int exit_status) {
  const std::string line = std::move(status).with_operation(operation).error_line("launcher", -1);
  std::fprintf(stderr, "%s\n", line.c_str());
  return exit_status;
}

// A descriptor of ours must not be taken for stdin, stdout or stderr.
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

int run_plan(const Plan& plan, const Variables& inherited) {
  Result<Programs> programs = find_programs(plan, inherited);
  if (!programs.ok()) return refuse(programs.status(), "start", kCannotExecuteStatus);
  Result<std::string> token = job_token(inherited);
  if (!token.ok()) return refuse(token.status(), "start", 1);
  const SteadyClock clock;
  const Ingredients ingredients{inherited, *programs, *token};
  return Runner(plan, ingredients, clock).run();
}

int show_plan(const Plan& plan, const Variables& inherited) {
  const Result<std::string> directory = program_directory(plan, inherited);
  if (!directory.ok()) return refuse(directory.status(), "start", 1);
  const Programs programs{*directory + "/stretto-scheduler", *directory + "/stretto-server",
                          plan.command.front()};
  std::fputs(preview(plan, programs, inherited).c_str(), stdout);
  return 0;
}

int check_plan(const Plan& plan, const Variables& inherited) {
  int problems = 0;
  for (const Finding& finding : check(plan, inherited, SteadyClock())) {
    std::printf("%s %s\n", finding.fine ? "ok     " : "PROBLEM", finding.text.c_str());
    problems += finding.fine ? 0 : 1;
  }
  std::fflush(stdout);
  if (problems == 0) return 0;
  return refuse({Code::kInvalidArgument, "the launch cannot work; problems are listed above"},
                "check", 1);
}

int launch(std::span<const std::string> arguments) {
  const Result<Plan> plan = parse_arguments(arguments, read_file);
  if (!plan.ok()) return refuse(plan.status(), "arguments", kUsageStatus);
  const Variables inherited = environment();
  switch (plan->action) {
    case Action::kRun:
      return run_plan(*plan, inherited);
    case Action::kDryRun:
      return show_plan(*plan, inherited);
    case Action::kCheck:
      return check_plan(*plan, inherited);
    case Action::kHelp:
      std::fputs(std::string(help_text()).c_str(), stdout);
      return 0;
    case Action::kVersion:
      std::printf("stretto-launch %s\n", kVersion);
      return 0;
  }
  return kUsageStatus;
}

}  // namespace
}  // namespace stretto::launch

int main(int argc, char** argv) {
  stretto::launch::open_standard_descriptors();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return stretto::launch::launch(arguments);
}
