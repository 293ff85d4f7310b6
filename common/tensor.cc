// SPDX-License-Identifier: Apache-2.0
// Names of modes and rules, as users and errors write them.
#include "stretto/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace stretto {
namespace {

constexpr std::string_view kModeNames[] = {"sync", "bounded", "async", "eager", "eager_async"};
constexpr std::string_view kRuleNames[] = {"sum",     "mean", "sgd", "momentum", "adam",
                                           "adagrad", "min",  "max", "product"};

constexpr std::string_view kExchangeNames[] = {"servers", "direct",       "ring", "halving",
                                               "tree",    "hierarchical", "auto"};
constexpr std::string_view kNonFiniteNames[] = {"pass", "count", "reject", "raise"};
constexpr std::string_view kLateNames[] = {"next", "own", "drop"};

// The enumerator of `name`; names[0] has the value `first`. The error puts `what` before `name`.
template <typename Enum, std::size_t kCount>
Result<Enum> named_in(const std::string_view (&names)[kCount], std::string_view what,
                      std::string_view name, std::size_t first = 0) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (names[i] == name) return static_cast<Enum>(i + first);
  }
  return Status(Code::kInvalidArgument, fmt::format("{}'{}' is not known; there are {}", what, name,
                                                    fmt::join(names, ", ")));
}

}  // namespace

std::string_view name_of(Mode mode) {
  const auto index = static_cast<std::size_t>(mode) - 1;
  return index < std::size(kModeNames) ? kModeNames[index] : "unknown";
}

Result<Mode> mode_named(std::string_view name) {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '-', '_');
  for (std::size_t i = 0; i < std::size(kModeNames); ++i) {
    if (kModeNames[i] == plain) return static_cast<Mode>(i + 1);
  }
  return Status(Code::kInvalidArgument, fmt::format("mode '{}' is not known; there are {}", name,
                                                    fmt::join(kModeNames, ", ")));
}

std::string_view name_of(Rule rule) {
  const auto index = static_cast<std::size_t>(rule) - 1;
  return index < std::size(kRuleNames) ? kRuleNames[index] : "unknown";
}

Result<Rule> rule_named(std::string_view name) {
  return named_in<Rule>(kRuleNames, "rule ", name, 1);
}

std::string_view name_of(Exchange exchange) {
  const auto index = static_cast<std::size_t>(exchange);
  return index < std::size(kExchangeNames) ? kExchangeNames[index] : "unknown";
}

Result<Exchange> exchange_named(std::string_view name) {
  return named_in<Exchange>(kExchangeNames, "exchange ", name);
}

std::string_view name_of(NonFinite policy) {
  const auto index = static_cast<std::size_t>(policy);
  return index < std::size(kNonFiniteNames) ? kNonFiniteNames[index] : "unknown";
}

Result<NonFinite> non_finite_named(std::string_view name) {
  return named_in<NonFinite>(kNonFiniteNames, "non_finite ", name);
}

std::string_view name_of(Late late) {
  const auto index = static_cast<std::size_t>(late);
  return index < std::size(kLateNames) ? kLateNames[index] : "unknown";
}

Result<Late> late_named(std::string_view name) { return named_in<Late>(kLateNames, "late ", name); }

}  // namespace stretto
