// SPDX-License-Identifier: Apache-2.0
// Whether a job is encrypted, and which options that excludes. Its secret never crosses a network
// in the clear, between members or between the launcher and its agents. Pure.
#pragma once

#include <string>

#include "stretto/status.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/plan/placement.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// True with --encrypt, or with STRETTO_ENCRYPT=1 for the job's processes.
bool is_to_be_encrypted(const Plan& plan, const Variables& inherited);

/// Checks an encrypted job. `one_host`: mpirun starts processes on this host only. Errors:
/// InvalidArgument, with the unencrypted traffic and the alternative.
Status check_encryption(const Plan& plan, Via via, bool one_host, const Variables& inherited);

/// Checks the token by which launchers of several nodes admit one another. Errors: InvalidArgument
/// if it is missing or can be guessed.
Status check_token_of_nodes(const std::string& token);

}  // namespace stretto::launch
