// SPDX-License-Identifier: Apache-2.0
// Parses command-line flags and their values. Pure. gflags is not used: it has one set of flags for
// a whole program, and each benchmark has its own.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/status.h"
#include "stretto/tensor.h"

namespace stretto::bench {

struct Flag {
  std::string_view name;   ///< "part_bytes": hyphens are accepted too.
  bool is_switch = false;  ///< Takes no value.
  std::function<Status(const std::string& value)> take;
};

inline Status invalid(std::string cause) { return {Code::kInvalidArgument, std::move(cause)}; }

inline Status read_flags(std::span<const std::string> words, std::span<const Flag> flags) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (!word.starts_with("--")) return invalid(fmt::format("wanted a flag, found '{}'", word));
    const std::size_t equals = std::min(word.find('='), word.size());
    std::string name(word.substr(2, equals - 2));
    std::replace(name.begin(), name.end(), '-', '_');
    const auto flag = std::find_if(flags.begin(), flags.end(),
                                   [&name](const Flag& known) { return known.name == name; });
    if (flag == flags.end()) {
      std::string known;
      for (const Flag& each : flags) known += fmt::format(" --{}", each.name);
      return invalid(fmt::format("unknown flag --{}; there are{}", name, known));
    }
    const bool attached = equals < word.size();
    if (flag->is_switch && attached) return invalid(fmt::format("--{} takes no value", name));
    if (!flag->is_switch && !attached && i + 1 == words.size()) {
      return invalid(fmt::format("--{} has no value", name));
    }
    std::string value(attached ? word.substr(equals + 1) : "");
    if (!flag->is_switch && !attached) value = words[++i];
    if (Status status = flag->take(value); !status.ok()) {
      return {status.code(), fmt::format("--{} is '{}', {}", name, value, status.cause())};
    }
  }
  return {};
}

/// A whole number; K, M and G after it stand for KiB, MiB and GiB.
template <typename T>
Status read_whole(std::string_view text, std::uint64_t least, std::uint64_t most, T& value) {
  std::uint64_t parsed = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, parsed);
  constexpr std::string_view kUnits = "KMG";
  const std::size_t unit = end - stop == 1 ? kUnits.find(*stop) : std::string_view::npos;
  if (unit != std::string_view::npos) {
    const std::size_t bits = 10 * (unit + 1);
    if (parsed > std::numeric_limits<std::uint64_t>::max() >> bits)
      error = std::errc::value_too_large;
    parsed <<= bits;
    ++stop;
  }
  if (error != std::errc() || stop != end || parsed < least || parsed > most) {
    return invalid(fmt::format("wanted a whole number from {} to {}", least, most));
  }
  value = static_cast<T>(parsed);
  return {};
}

inline Status read_seconds(std::string_view text, double least, double most, double& value) {
  double parsed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, parsed);
  if (error != std::errc() || stop != end || !(parsed >= least && parsed <= most)) {
    return invalid(fmt::format("wanted seconds from {} to {}", least, most));
  }
  value = parsed;
  return {};
}

/// Splits at commas.
inline std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    words.push_back(text.substr(0, comma));
    if (comma == text.size()) return words;
    text.remove_prefix(comma + 1);
  }
}

/// Comma-separated whole numbers.
inline Status read_list(std::string_view text, std::uint64_t least, std::uint64_t most,
                        std::vector<std::uint64_t>& values) {
  values.clear();
  for (const std::string_view word : split(text)) {
    std::uint64_t value = 0;
    if (Status status = read_whole(word, least, most, value); !status.ok()) return status;
    values.push_back(value);
  }
  return {};
}

// ---- flags of usual kinds; `value` must outlive them.

inline Flag switch_flag(std::string_view name, bool& value) {
  return {name, true, [&value](const std::string&) {
            value = true;
            return Status();
          }};
}

template <typename T>
Flag whole_flag(std::string_view name, std::uint64_t least, std::uint64_t most, T& value) {
  return {name, false,
          [=, &value](const std::string& text) { return read_whole(text, least, most, value); }};
}

inline Flag seconds_flag(std::string_view name, double least, double most, double& value) {
  return {name, false,
          [=, &value](const std::string& text) { return read_seconds(text, least, most, value); }};
}

/// Words and their values.
template <typename T>
using Choices = std::span<const std::pair<std::string_view, T>>;

template <typename T>
std::string_view word_for(Choices<T> known, const T& value) {
  for (const auto& [word, each] : known) {
    if (each == value) return word;
  }
  return "unknown";
}

/// "wanted a, b or c".
template <typename T>
std::string wanted_of(Choices<T> known) {
  std::string text = "wanted ";
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (i > 0) text += i + 1 == known.size() ? " or " : ", ";
    text += known[i].first;
  }
  return text;
}

template <typename T>
Status read_choice(std::string_view text, Choices<T> known, T& value) {
  for (const auto& [word, each] : known) {
    if (word != text) continue;
    value = each;
    return {};
  }
  return invalid(wanted_of(known));
}

template <typename T>
Flag choice_flag(std::string_view name, Choices<T> known, T& value) {
  return {name, false,
          [=, &value](const std::string& text) { return read_choice(text, known, value); }};
}

inline Flag exchange_flag(Exchange& value) {
  return {"exchange", false, [&value](const std::string& text) {
            const Result<Exchange> named = exchange_named(text);
            if (named.ok()) value = *named;
            return named.status();
          }};
}

/// One word, or several separated by commas.
template <typename T>
Flag choices_flag(std::string_view name, Choices<T> known, std::vector<T>& values) {
  return {name, false, [=, &values](const std::string& text) {
            values.clear();
            for (const std::string_view word : split(text)) {
              T value{};
              if (!read_choice(word, known, value).ok()) {
                return invalid(wanted_of(known) + ", or several with commas between");
              }
              values.push_back(value);
            }
            return Status();
          }};
}

}  // namespace stretto::bench
