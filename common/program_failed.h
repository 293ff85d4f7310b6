// SPDX-License-Identifier: Apache-2.0
// The code of a launcher's last line for a worker whose program failed by itself. It is apart from
// the public codes: no call returns it, and it never travels.
#pragma once

#include "stretto/status.h"

namespace stretto {

/// "ProgramFailed": a program ended with a status other than 0 for a reason of its own.
inline constexpr Code kProgramFailed{18};

}  // namespace stretto
