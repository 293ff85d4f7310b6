// SPDX-License-Identifier: Apache-2.0
// What a server that joins a job is told of it: the variables by which the launcher of the job has
// told the others, as the job's scheduler knows them. Who starts it has to know nothing of the job.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "common/config/config.h"
#include "stretto/status.h"

namespace stretto {

/// By name. The token is not among them. `workers`: of the job, as they are.
std::map<std::string, std::string> told_variables(const Config& config, std::uint32_t workers);

/// A line NAME=VALUE for each, and back. Errors: Malformed, for any other name than those above, or
/// a value that is none.
std::string lines_of(const std::map<std::string, std::string>& variables);
Result<std::map<std::string, std::string>> variables_in(std::string_view lines);

/// Those of them that are the same for all of a job. Of the others each host may have a value of
/// its own: what is set there goes before what is told.
std::span<const std::string_view> variables_of_all();

}  // namespace stretto
