// SPDX-License-Identifier: Apache-2.0
// Restores tensors of Parameters from a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "stretto/checkpoints.h"
#include "stretto/status.h"
#include "worker/training/model_tensor.h"

namespace stretto {

/// The suffix of a tensor's name in the name of its optimizer's attachment.
inline constexpr const char* kOptimizerSuffix = "/optimizer";

/// The attachment of all workers, or of the worker of this rank; null: there is none.
const Attached* find_attached(const std::vector<Attached>& all, const std::string& name, Rank rank);

/// Loads the state of the tensor's optimizer and, if the checkpoint `holds_values`, its values.
/// kMismatch if the checkpoint has another size of it, or nothing. If there are more workers than
/// before, the additional ones start with the first worker's state.
Status restore(const Checkpoints& checkpoints, const std::vector<Attached>& saved,
               bool holds_values, Rank rank, ModelTensor& tensor);

}  // namespace stretto
