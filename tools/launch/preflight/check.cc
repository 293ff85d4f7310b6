// SPDX-License-Identifier: Apache-2.0
// One function for each check.
#include "tools/launch/preflight/check.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "common/build_version.h"
#include "tools/launch/preflight/remote_check.h"
#include "tools/launch/process/signals.h"
#include "tools/launch/process/spawn.h"
#include "tools/launch/process/system.h"

namespace stretto::launch {
namespace {

constexpr std::size_t kMaxText = 4096;

// Appends available bytes to `text`; false at the end of the stream.
bool read_more(const Descriptor& from, std::string& text) {
  std::array<char, kMaxText> bytes;
  const ssize_t got = ::read(from.get(), bytes.data(), bytes.size());
  if (got <= 0) return got < 0;
  text.append(bytes.data(), std::min(static_cast<std::size_t>(got), kMaxText - text.size()));
  return true;
}

// The first line that `path --version` prints, within `patience`.
Result<std::string> version_of(const std::string& path, const Variables& environment,
                               const SignalState& signals, const Clock& clock, Duration patience) {
  const Result<ChildProcess> child =
      spawn({path, {path, "--version"}, {}, environment}, {}, signals);
  if (!child.ok()) return child.status();
  std::string text;
  std::optional<Exit> exit;
  bool open = true;
  for (const Time until = clock.now() + patience; !exit && clock.now() < until;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.now()).count();
    std::array<pollfd, 2> looks{pollfd{child->handle.get(), POLLIN, 0},
                                pollfd{open ? child->output.get() : -1, POLLIN, 0}};
    ::poll(looks.data(), looks.size(), static_cast<int>(left));
    exit = exit_of(*child);
    if (looks[1].revents != 0) open = read_more(child->output, text);
  }
  if (exit) read_more(child->output, text);
  kill_and_reap(*child);
  if (!exit) return Status(Code::kTimeout, fmt::format("'{} --version' does not end", path));
  if (exit->failed()) {
    return Status(Code::kInvalidArgument, fmt::format("'{} --version' {}", path, exit->text()));
  }
  return text.substr(0, text.find('\n'));
}

Finding check_role(const std::string& name, const std::string& directory,
                   const Variables& inherited, const SignalState& signals, const Clock& clock,
                   Duration patience) {
  const Result<std::string> path = find_program(directory + "/" + name, {});
  if (!path.ok()) return {false, path.status().cause()};
  const Result<std::string> version = version_of(*path, inherited, signals, clock, patience);
  if (!version.ok()) return {false, version.status().cause()};
  const std::string ours = build_version();
  if (!is_same_build(version->substr(version->find(' ') + 1), ours)) {
    return {false, fmt::format("{} reports '{}', and this launcher is {}; install the same build",
                               *path, *version, ours)};
  }
  return {true, fmt::format("{} is {}", name, *path)};
}

Finding check_program(const Plan& plan, const Variables& inherited) {
  if (plan.command.empty()) return {true, "no PROGRAM was given to look for"};
  const Result<std::string> path = find_worker(plan, inherited);
  if (!path.ok()) return {false, path.status().cause()};
  return {true, fmt::format("{} is {}", plan.command.front(), *path)};
}

Finding check_descriptors(const Plan& plan) {
  const std::uint64_t limit = raise_descriptor_limit();
  if (Status status = require_descriptors(plan, limit); !status.ok()) {
    return {false, status.cause()};
  }
  return {true, fmt::format("{} open files needed, {} allowed", descriptors_needed(plan), limit)};
}

Finding check_log_directory(const Plan& plan) {
  std::filesystem::path folder = std::filesystem::absolute(plan.log_directory);
  std::error_code error;
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  if (!std::filesystem::is_directory(folder, error) || ::access(folder.c_str(), W_OK) != 0) {
    return {false, fmt::format("logs cannot be written to '{}': '{}' is no folder we may write to",
                               plan.log_directory, folder.string())};
  }
  return {true, fmt::format("logs go to {}", plan.log_directory)};
}

// Checks the program that starts agents on other hosts.
Finding check_starter(const Plan& plan, const Placement& placement, const Programs& programs,
                      const Variables& inherited, const SignalState& signals, const Clock& clock) {
  const Result<Command> command = mpirun_of(plan, placement, programs, inherited);
  if (!command.ok()) return {false, command.status().cause()};
  const auto path = inherited.find("PATH");
  const Result<std::string> found =
      find_program(command->path, path == inherited.end() ? std::string() : path->second);
  if (!found.ok()) return {false, found.status().cause()};
  const Result<std::string> version =
      version_of(*found, command->environment, signals, clock, plan.limits.start);
  if (!version.ok()) return {false, version.status().cause()};
  return {true, fmt::format("{} is {}: {}", command->path, *found, *version)};
}

bool runs_here(const Plan& plan, const Placement& placement, Role role) {
  const std::vector<JobMember> members = members_of(plan);
  const std::vector<std::size_t> here = placement.members_at(0);
  return std::any_of(here.begin(), here.end(),
                     [&](std::size_t member) { return members[member].role == role; });
}

}  // namespace

std::vector<Finding> check(const Plan& plan, const Placement& placement,
                           const std::string& directory, const Variables& inherited,
                           const Clock& clock) {
  const Signals signals;
  std::vector<Finding> findings;
  const Result<std::string> folder = program_directory(plan, inherited);
  if (!folder.ok()) return {{false, folder.status().cause()}};
  const Programs programs{*folder + "/stretto-scheduler", *folder + "/stretto-server",
                          plan.command.empty() ? std::string() : plan.command.front(),
                          *folder + "/stretto-launch"};
  for (const auto& [role, name] : {std::pair(Role::kScheduler, "stretto-scheduler"),
                                   std::pair(Role::kServer, "stretto-server")}) {
    if (!runs_here(plan, placement, role)) continue;
    findings.push_back(
        check_role(name, *folder, inherited, signals.before(), clock, plan.limits.start));
  }
  if (runs_here(plan, placement, Role::kWorker)) findings.push_back(check_program(plan, inherited));
  findings.push_back(check_descriptors(plan));
  if (!plan.log_directory.empty()) findings.push_back(check_log_directory(plan));
  if (placement.via == Via::kMpi) {
    findings.push_back(
        check_starter(plan, placement, programs, inherited, signals.before(), clock));
  } else {
    const std::vector<Finding> far =
        survey(plan, placement, directory, programs, inherited, signals.before(), clock);
    findings.insert(findings.end(), far.begin(), far.end());
  }
  if (const std::string note = allocation_note(inherited);
      placement.via == Via::kLocal && !note.empty()) {
    findings.push_back({true, note});
  }
  return findings;
}

}  // namespace stretto::launch
