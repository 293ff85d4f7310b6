// SPDX-License-Identifier: Apache-2.0
// The code of a launcher's last line for a worker whose program failed. It is separate from the
// public codes: no call returns it, and it is never sent.
#pragma once

#include "stretto/status.h"

namespace stretto {

/// "ProgramFailed": a program ended with a status other than 0 on its own account.
inline constexpr Code kProgramFailed{18};

}  // namespace stretto
