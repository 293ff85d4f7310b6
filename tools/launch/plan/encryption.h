// SPDX-License-Identifier: Apache-2.0
// Whether a job is encrypted, and what cannot be had then: nothing that has its secret goes plain
// over a network, neither between the job's members nor between the launcher and its agents. Pure.
#pragma once

#include <string>

#include "stretto/status.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/plan/placement.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// True with --encrypt, or STRETTO_ENCRYPT=1 in what the job's processes will have.
bool is_to_be_encrypted(const Plan& plan, const Variables& inherited);

/// For such a job. `one_host`: mpirun starts nothing elsewhere. Errors: InvalidArgument, with what
/// is not encrypted and what to take instead.
Status check_encryption(const Plan& plan, Via via, bool one_host, const Variables& inherited);

/// The token by which launchers of several nodes admit one another. Errors: InvalidArgument if
/// there is none, or if it can be guessed.
Status check_token_of_nodes(const std::string& token);

}  // namespace stretto::launch
