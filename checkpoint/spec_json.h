// SPDX-License-Identifier: Apache-2.0
// TensorSpec as JSON, for people and other programs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/tensor_spec.h"

namespace stretto::checkpoint {

/// Leaves out options that the tensor does not use. A name that is not UTF-8 is in "name_hex".
nlohmann::json json_of(const TensorSpec& spec);
/// kMalformed, with the cause, if the JSON describes no tensor.
Result<TensorSpec> spec_of(const nlohmann::json& json);

}  // namespace stretto::checkpoint
