// SPDX-License-Identifier: Apache-2.0
// Whether what is attached is there as it was saved. Files may say anything: nothing of it is used
// before its stripes are held against what they say of the whole.
#pragma once

#include "tools/checkpoint/inventory.h"

namespace stretto::checkpoint {

/// kMalformed, with its name, unless all stripes are there, their bytes are those of the whole, and
/// these are whole elements.
Status check_whole(const Inventory::Attached& attached);

/// kMalformed, with its name, if it has an element type, and a shape of more or fewer elements.
Status check_shape(const Inventory::Attached& attached);

}  // namespace stretto::checkpoint
