// SPDX-License-Identifier: Apache-2.0
// Knobs and Window, which the tuner and the reader share. They are public, for a program may turn
// the knobs itself.
#pragma once

#include "stretto/knobs.h"  // IWYU pragma: export
