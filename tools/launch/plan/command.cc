// SPDX-License-Identifier: Apache-2.0
// Builds the command of a member of a plan, and formats commands as text.
#include "tools/launch/plan/command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "tools/launch/protocol/agent_protocol.h"

namespace stretto::launch {
namespace {

constexpr std::string_view kPlainCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:=@%,";

// --starter, else STRETTO_STARTER, else `usual`.
Result<std::vector<std::string>> starter_words(const Plan& plan, std::string_view usual,
                                               const Variables& inherited) {
  std::string text = plan.starter;
  if (const auto found = inherited.find("STRETTO_STARTER");
      text.empty() && found != inherited.end()) {
    text = found->second;
  }
  if (text.empty()) text = usual;
  Result<std::vector<std::string>> words = shell_words(text);
  if (words.ok() && words->empty()) words = Status(Code::kInvalidArgument, "--starter has no word");
  return words;
}

Command command_from(std::vector<std::string> words, const Variables& inherited) {
  Command command;
  command.path = words.front();
  command.arguments = std::move(words);
  command.environment = inherited;
  return command;
}

bool mentions(const std::vector<std::string>& words, std::string_view flag) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word.ends_with(flag); });
}

std::string line_of(const Command& command) {
  std::string line = "env";
  for (const auto& [name, value] : command.given) {
    line += fmt::format(" {}", shell_quoted(fmt::format("{}={}", name, value)));
  }
  for (const std::string& argument : command.arguments) line += " " + shell_quoted(argument);
  return line;
}

}  // namespace

Command command_of(const Plan& plan, const JobMember& member, const Programs& programs,
                   const Rendezvous& rendezvous, const Seat& seat, const Variables& inherited) {
  Command command;
  switch (member.role) {
    case Role::kScheduler:
      command.path = programs.scheduler;
      command.arguments = {programs.scheduler, "--ready_fd", std::to_string(kReadyDescriptor)};
      break;
    case Role::kServer:
      command.path = programs.server;
      command.arguments = {programs.server};
      break;
    case Role::kEndpoint:  // Never started by the launcher, as the next.
    case Role::kObserver:
    case Role::kWorker:
      command.path = programs.worker;
      command.arguments = plan.command;
      break;
  }
  command.given = variables_for(plan, member, rendezvous, seat, inherited);
  command.environment = merged(inherited, command.given);
  return command;
}

std::string shell_quoted(std::string_view text) {
  if (!text.empty() && text.find_first_not_of(kPlainCharacters) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

Result<std::vector<std::string>> shell_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool begun = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (escapes) {
      word += text[++i];
      begun = true;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
      if (c != quote && quote != '\0') word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      begun = true;
    } else if (c != ' ' && c != '\t') {
      word += c;
      begun = true;
    } else if (begun) {
      words.push_back(std::exchange(word, {}));
      begun = false;
    }
  }
  if (quote != '\0') {
    return Status(Code::kInvalidArgument,
                  fmt::format("the starter is '{}', wanted each quote closed", text));
  }
  if (begun) words.push_back(word);
  return words;
}

// ssh passes one text to the remote shell; srun passes words unchanged.
Result<Command> carrier_of(const Plan& plan, const Placement& placement, std::size_t site,
                           const Programs& programs, const Variables& inherited) {
  const bool ssh = placement.via == Via::kSsh;
  Result<std::vector<std::string>> words = starter_words(plan, ssh ? "ssh" : "srun", inherited);
  if (!words.ok()) return words.status();
  const std::vector<std::string> after =
      ssh ? std::vector<std::string>{"-T",
                                     "-x",
                                     "-o",
                                     "BatchMode=yes",
                                     "-o",
                                     "ServerAliveInterval=15",
                                     "-o",
                                     "ServerAliveCountMax=4",
                                     placement.sites[site].name,
                                     fmt::format("exec {} --agent",
                                                 shell_quoted(programs.launcher))}
          : std::vector<std::string>{"--nodes=1",
                                     "--ntasks=1",
                                     fmt::format("--relative={}", site - 1),
                                     "--overlap",
                                     "--mem=0",
                                     "--cpu-bind=none",
                                     "--unbuffered",
                                     "--kill-on-bad-exit=0",
                                     programs.launcher,
                                     "--agent"};
  words->insert(words->end(), after.begin(), after.end());
  return command_from(std::move(*words), inherited);
}

// Scheduler and servers take no slots, so there are more ranks than slots. Processes have threads,
// so they are not bound to one core each. mpirun gets names of variables, not their values.
Result<Command> mpirun_of(const Plan& plan, const Placement& placement, const Programs& programs,
                          const Variables& inherited) {
  Result<std::vector<std::string>> words = starter_words(plan, "mpirun", inherited);
  if (!words.ok()) return words.status();
  if (!mentions(*words, "-oversubscribe")) words->emplace_back("--oversubscribe");
  if (!mentions(*words, "-bind-to")) words->insert(words->end(), {"--bind-to", "none"});
  if (!plan.hosts.empty()) {
    std::string hosts;
    for (const HostSlots& host : merged(plan.hosts)) {
      hosts += fmt::format("{}{}:{}", hosts.empty() ? "" : ",", host.host, host.slots);
    }
    words->insert(words->end(), {"--host", hosts});
  }
  words->insert(words->end(),
                {"-np", std::to_string(placement.site_of.size()), "-x", kLaunchAddresses, "-x",
                 kLaunchSecret, programs.launcher, "--agent"});
  Command command = command_from(std::move(*words), inherited);
  if (::geteuid() == 0) {
    command.environment.insert({"OMPI_ALLOW_RUN_AS_ROOT", "1"});
    command.environment.insert({"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"});
  }
  return command;
}

Result<std::string> preview(const Plan& plan, const Placement& placement, const Programs& programs,
                            const Variables& inherited) {
  const bool alone = placement.only_here() && plan.interface.empty();
  const std::string host = alone ? "127.0.0.1" : "0.0.0.0";
  const Rendezvous rendezvous{{host, 0}, "****", host};
  std::string text =
      "# Ports that are 0 or end in 0000 are known once the scheduler listens; the token is "
      "masked.\n";
  if (!placement.only_here()) {
    text +=
        "# So are addresses that are 0.0.0.0, and local ranks. Agents start the processes, and "
        "get these\n# variables over the stdin of what starts them.\n";
  }
  if (placement.via == Via::kMpi) {
    const Result<Command> mpirun = mpirun_of(plan, placement, programs, inherited);
    if (!mpirun.ok()) return mpirun.status();
    text += fmt::format("[mpirun] {}\n", line_of(*mpirun));
  }
  for (std::size_t site = 1; site < placement.sites.size() && placement.via != Via::kMpi; ++site) {
    if (placement.members_at(site).empty()) continue;
    const Result<Command> carrier = carrier_of(plan, placement, site, programs, inherited);
    if (!carrier.ok()) return carrier.status();
    text += fmt::format("[{}] {}\n", placement.sites[site].name, line_of(*carrier));
  }
  const std::vector<JobMember> members = members_of(plan);
  const std::vector<LocalRank> ranks =
      local_ranks(members, placement, std::vector<std::string>(placement.sites.size()));
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Site& site = placement.sites[placement.site_of[i]];
    const Seat seat{alone ? "" : "0.0.0.0", ranks[i].rank, ranks[i].size};
    const Command command = command_of(plan, members[i], programs, rendezvous, seat, inherited);
    const std::string where = site.here ? "" : fmt::format(" on {}", site.name);
    text += fmt::format("[{}{}] {}\n", label_of(members[i]), where, line_of(command));
  }
  return text;
}

}  // namespace stretto::launch
