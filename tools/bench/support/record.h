// SPDX-License-Identifier: Apache-2.0
// Record: one result, as named values in order; a line of JSON, or a row of a table. Pure.
#pragma once

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stretto::bench {

class Record {
 public:
  Record& text(std::string_view key, std::string_view value) {
    return add(key, std::string(value));
  }
  Record& count(std::string_view key, std::uint64_t value) { return add(key, value); }
  Record& real(std::string_view key, double value) { return add(key, value); }

  /// {"name":"memcpy","gb_per_s":11.25}: one line, without a newline. NaN is null.
  std::string json() const {
    std::string line;
    for (const auto& [key, value] : fields_) {
      line += fmt::format("{}{}:{}", line.empty() ? "{" : ",", quoted(key), json_of(value));
    }
    return line.empty() ? "{}" : line + "}";
  }

  /// The value of `key` for display; "-" if there is none.
  std::string shown(std::string_view key) const {
    for (const auto& [name, value] : fields_) {
      if (name != key) continue;
      if (const auto* words = std::get_if<std::string>(&value)) return *words;
      if (const auto* whole = std::get_if<std::uint64_t>(&value)) return fmt::format("{}", *whole);
      const double number = std::get<double>(value);
      if (!std::isfinite(number)) return "-";
      return std::abs(number) < 1000 ? fmt::format("{:.4g}", number)
                                     : fmt::format("{:.0f}", number);
    }
    return "-";
  }

 private:
  using Value = std::variant<std::string, std::uint64_t, double>;

  Record& add(std::string_view key, Value value) {
    fields_.emplace_back(key, std::move(value));
    return *this;
  }

  static std::string json_of(const Value& value) {
    if (const auto* words = std::get_if<std::string>(&value)) return quoted(*words);
    if (const auto* whole = std::get_if<std::uint64_t>(&value)) return fmt::format("{}", *whole);
    const double number = std::get<double>(value);
    return std::isfinite(number) ? fmt::format("{:.6g}", number) : "null";
  }

  static std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        result += fmt::format("\\{}", c);
      } else if (static_cast<unsigned char>(c) < 0x20) {
        result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      } else {
        result += c;
      }
    }
    return result + "\"";
  }

  std::vector<std::pair<std::string, Value>> fields_;
};

}  // namespace stretto::bench
