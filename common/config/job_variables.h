// SPDX-License-Identifier: Apache-2.0
// Variables for a server that joins a job: those that the job's launcher has set for the others, as
// the scheduler knows them. So the server's starter needs no knowledge of the job.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "common/config/config.h"
#include "stretto/status.h"

namespace stretto {

/// By name, without the token. `workers`: the job's current number.
std::map<std::string, std::string> told_variables(const Config& config, std::uint32_t workers);

/// A line NAME=VALUE for each, and back. Errors: Malformed, for an unknown name or an invalid
/// value.
std::string lines_of(const std::map<std::string, std::string>& variables);
Result<std::map<std::string, std::string>> variables_in(std::string_view lines);

/// The variables that must be equal in the whole job. The others may differ by host: values set
/// there take precedence.
std::span<const std::string_view> variables_of_all();

}  // namespace stretto
