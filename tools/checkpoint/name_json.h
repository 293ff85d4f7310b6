// SPDX-License-Identifier: Apache-2.0
// Names of arbitrary bytes as fields of JSON, as spec_json.h does for tensors.
#pragma once

#include <fmt/core.h>

#include <string>

#include "checkpoint/json_fields.h"

namespace stretto::checkpoint {

/// Sets "name", or "name_hex" if it is not UTF-8.
inline void put_name(Json& json, const std::string& name) {
  if (is_text(name)) {
    json["name"] = name;
    return;
  }
  std::string hex;
  for (const char byte : name) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  json["name_hex"] = hex;
}

}  // namespace stretto::checkpoint
