// SPDX-License-Identifier: Apache-2.0
// The first and the last thing that a program of ours does.
#include "common/config/program.h"

#include <errno.h>
#include <fmt/core.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "common/config/variables.h"
#include "common/log.h"
#include "common/process/oom_handler.h"

namespace stretto {

Result<Config> program_config(Role role, const std::map<std::string, std::string>& flags) {
  set_log_identity({std::string(name_of(role)), -1});
  promise_last_words();
  Result<Config> config = config_from(overlay(flags, process_environment()), role);
  if (!config.ok()) return config;
  set_log_level(level_named(config->log_level).value_or(Level::kInfo));
  set_log_identity({std::string(name_of(role)), config->rank});
  warn_of_unread_variables();
  return config;
}

int exit_status(const Status& status) {
  if (status.ok()) return 0;
  const Identity who = log_identity();
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", status.error_line(who.role, who.rank).c_str());
  const Code code = status.code();
  const bool lost =
      code == Code::kPeerLost || code == Code::kServerLost || code == Code::kSchedulerLost;
  return lost ? kExitOfLoss : 1;
}

std::string arguments_line(const Status& status, std::string_view role) {
  return fmt::format("ERROR {} (role={} rank=- peer=- op=arguments)", status.text(), role);
}

int finished(int status, std::string_view role) {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if ((flushed && !failed_before) || status != 0 || errno == EPIPE) return status;
  const std::string reason = flushed ? "" : fmt::format(": {}", std::strerror(errno));
  Status lost(Code::kResource, fmt::format("standard output did not take all{}", reason));
  std::fprintf(stderr, "%s\n",
               std::move(lost).with_operation("print").error_line(role, -1).c_str());
  return 1;
}

}  // namespace stretto
