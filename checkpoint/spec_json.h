// SPDX-License-Identifier: Apache-2.0
// What a tensor is, as JSON that people and other programs read.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/tensor_spec.h"

namespace stretto::checkpoint {

/// Options that the tensor does not use are left out. A name that is no UTF-8 is in "name_hex".
nlohmann::json json_of(const TensorSpec& spec);
/// kMalformed, with what is wrong, if this describes no tensor.
Result<TensorSpec> spec_of(const nlohmann::json& json);

}  // namespace stretto::checkpoint
