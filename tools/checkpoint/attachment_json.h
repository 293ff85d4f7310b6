// SPDX-License-Identifier: Apache-2.0
// Attachments as JSON, with the fields of spec_json.h where tensors have the same.
#pragma once

#include "tools/checkpoint/inventory.h"
#include "tools/checkpoint/name_json.h"

namespace stretto::checkpoint {

/// "rank" is null for a replicated attachment, "dtype" for bytes.
inline Json json_of(const Inventory::Attached& attached) {
  Json json{{"rank", nullptr},
            {"bytes", attached.bytes()},
            {"dtype", nullptr},
            {"shape", attached.shape}};
  if (attached.rank != kOfAll) json["rank"] = attached.rank;
  if (attached.dtype) json["dtype"] = name_of(*attached.dtype);
  put_name(json, attached.name);
  return json;
}

}  // namespace stretto::checkpoint
