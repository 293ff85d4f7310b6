// SPDX-License-Identifier: Apache-2.0
// Typed access to fields of JSON objects from untrusted files: a field of another type counts as
// missing.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace stretto::checkpoint {

using Json = nlohmann::json;

/// The field, or null.
inline const Json* field(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

template <std::unsigned_integral T>
bool read(const Json& object, const char* name, T& into) {
  const Json* found = field(object, name);
  if constexpr (std::same_as<T, bool>) {
    if (found == nullptr || !found->is_boolean()) return false;
    into = found->get<bool>();
  } else {
    if (found == nullptr || !found->is_number_unsigned()) return false;
    const auto number = found->get<std::uint64_t>();
    if (number > std::numeric_limits<T>::max()) return false;
    into = static_cast<T>(number);
  }
  return true;
}

inline bool read(const Json& object, const char* name, double& into) {
  const Json* found = field(object, name);
  if (found == nullptr || !(found->is_number() || found->is_null())) return false;
  // JSON cannot represent non-finite numbers: nlohmann writes null.
  into = found->is_null() ? std::numeric_limits<double>::quiet_NaN() : found->get<double>();
  return true;
}

inline bool read(const Json& object, const char* name, std::string& into) {
  const Json* found = field(object, name);
  if (found == nullptr || !found->is_string()) return false;
  into = found->get<std::string>();
  return true;
}

/// Reads an enumeration's value, from `first` to `last`, by its name.
template <typename Enum>
bool read_name(const Json& object, const char* name, Enum first, Enum last, Enum& into) {
  std::string text;
  if (!read(object, name, text)) return false;
  for (auto each = static_cast<int>(first); each <= static_cast<int>(last); ++each) {
    if (name_of(static_cast<Enum>(each)) != text) continue;
    into = static_cast<Enum>(each);
    return true;
  }
  return false;
}

/// False if JSON cannot represent these bytes: they are not UTF-8.
inline bool is_text(const std::string& bytes) {
  return Json::parse(Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace), nullptr,
                     false) == Json(bytes);
}

}  // namespace stretto::checkpoint
