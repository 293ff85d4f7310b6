// SPDX-License-Identifier: Apache-2.0
// What the scheduler's and the server's programs share: from flags and environment to a Config.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/config/config.h"

namespace stretto {

/// The Config of a program: `flags` holds what the command line set, as STRETTO_* names. Sets the
/// log's level and identity.
Result<Config> program_config(Role role, const std::map<std::string, std::string>& flags);

/// Exit status of a server or scheduler that ends because somebody else was lost. A launcher can
/// so tell the cause from what followed from it.
inline constexpr int kExitOfLoss = 69;

/// Prints the error line of a status and returns the exit status of a program: 0 if it is ok,
/// kExitOfLoss if another member was lost, else 1.
int exit_status(const Status& status);

/// "ERROR InvalidArgument: SENTENCE (role=launcher rank=- peer=- op=arguments)": the line for a
/// command line that cannot be used. A person reads the sentence first; a script finds the fields.
std::string arguments_line(const Status& status, std::string_view role);

/// What main returns: `status`; or, where that is 0 and standard output has not taken all that the
/// program printed, 1, after an error line. A reader that has left (`| head -1`) is no error.
int finished(int status, std::string_view role);

}  // namespace stretto
