// SPDX-License-Identifier: Apache-2.0
// Shared by the scheduler's and the server's programs: turns flags and environment into a Config.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/config/config.h"

namespace stretto {

/// The Config of a program: `flags` contains the command line's settings, as STRETTO_* names. Sets
/// the log's level and identity.
Result<Config> program_config(Role role, const std::map<std::string, std::string>& flags);

/// Exit status of a server or scheduler that ends because another member was lost. So a launcher
/// can tell the cause from its consequences.
inline constexpr int kExitOfLoss = 69;

/// Prints the error line of a status and returns the exit status of a program: 0 if it is ok,
/// kExitOfLoss if another member was lost, else 1.
int exit_status(const Status& status);

/// "ERROR InvalidArgument: SENTENCE (role=launcher rank=- peer=- op=arguments)": the line for an
/// invalid command line. Users read the sentence first; scripts find the fields.
std::string arguments_line(const Status& status, std::string_view role);

/// The return value of main: `status`; or, if that is 0 and standard output is incomplete, 1 after
/// an error line. A closed reader (`| head -1`) is no error.
int finished(int status, std::string_view role);

}  // namespace stretto
