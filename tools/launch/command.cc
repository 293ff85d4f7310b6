// SPDX-License-Identifier: Apache-2.0
// From a plan and a member to a command, and from commands to text.
#include "tools/launch/command.h"

#include <fmt/format.h>

namespace stretto::launch {
namespace {

constexpr std::string_view kPlainCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:=@%,";

}  // namespace

Command command_of(const Plan& plan, const Member& member, const Programs& programs,
                   const Rendezvous& rendezvous, const Variables& inherited) {
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
    case Role::kWorker:
      command.path = programs.worker;
      command.arguments = plan.command;
      break;
  }
  command.given = variables_for(plan, member, rendezvous, inherited);
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

std::string preview(const Plan& plan, const Programs& programs, const Variables& inherited) {
  const Rendezvous rendezvous{{"127.0.0.1", 0}, "****"};
  std::string text =
      "# Ports that are 0 or end in 0000 are known once the scheduler listens; the token is "
      "masked.\n";
  for (const Member& member : members_of(plan)) {
    const Command command = command_of(plan, member, programs, rendezvous, inherited);
    text += fmt::format("[{}] env", label_of(member));
    for (const auto& [name, value] : command.given) {
      text += fmt::format(" {}", shell_quoted(fmt::format("{}={}", name, value)));
    }
    for (const std::string& argument : command.arguments) text += " " + shell_quoted(argument);
    text += "\n";
  }
  return text;
}

}  // namespace stretto::launch
