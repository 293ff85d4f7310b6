// SPDX-License-Identifier: Apache-2.0
// What is attached as JSON, with the fields that spec_json.h has of tensors where it has the same.
#pragma once

#include "tools/checkpoint/inventory.h"
#include "tools/checkpoint/name_json.h"

namespace stretto::checkpoint {

/// "rank" is null for what is of all workers, "dtype" for bytes.
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
