// SPDX-License-Identifier: Apache-2.0
// Which flags each start method honours. A flag that the chosen method cannot honour is refused,
// so that no flag is dropped silently. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "stretto/status.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

enum class StartMethod : std::uint8_t { kLocal, kSsh, kMpi, kSlurm, kNodes, kKubernetes };

/// The start method of a job that this launcher runs.
StartMethod method_of(Via via);

/// "--via ssh", "--nnodes", "--print k8s": how messages name a method.
std::string_view name_of(StartMethod method);

/// Why the method cannot honour the flag and what the caller can do; empty: it honours the flag.
std::string_view refusal_of(Flag flag, StartMethod method);

/// Refuses every given flag that the method cannot honour, and values that it cannot use. The
/// scheduler's host may be named for a job on this host if `is_here` says that it is this host.
/// Errors: InvalidArgument, naming the flag, the method and the remedy.
Status check_flags(const Plan& plan, StartMethod method,
                   const std::function<bool(const std::string&)>& is_here);

}  // namespace stretto::launch
