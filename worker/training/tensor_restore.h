// SPDX-License-Identifier: Apache-2.0
// Tensors of Parameters as a checkpoint has them.
#pragma once

#include <string>
#include <vector>

#include "stretto/checkpoints.h"
#include "stretto/status.h"
#include "worker/training/model_tensor.h"

namespace stretto {

/// What the attachment of a tensor's optimizer is called, behind the tensor's name.
inline constexpr const char* kOptimizerSuffix = "/optimizer";

/// The attachment of all workers, or of the worker of this rank; null: none.
const Attached* find_attached(const std::vector<Attached>& all, const std::string& name, Rank rank);

/// Loads what the tensor's optimizer remembers and, if the checkpoint `holds_values`, its values.
/// kMismatch if the checkpoint has another size of it, or nothing. Where there are more workers
/// than there were, some begin with what the first remembered.
Status restore(const Checkpoints& checkpoints, const std::vector<Attached>& saved,
               bool holds_values, Rank rank, ModelTensor& tensor);

}  // namespace stretto
