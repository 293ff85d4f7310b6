// SPDX-License-Identifier: Apache-2.0
// Checks that an attachment is complete. Files are untrusted: an attachment is used only after its
// stripes match its declared size.
#pragma once

#include "tools/checkpoint/inventory.h"

namespace stretto::checkpoint {

/// kMalformed, with its name, unless all stripes exist, their bytes add up to the whole, and the
/// whole has complete elements.
Status check_whole(const Inventory::Attached& attached);

/// kMalformed, with its name, if its shape does not fit its number of typed elements.
Status check_shape(const Inventory::Attached& attached);

}  // namespace stretto::checkpoint
