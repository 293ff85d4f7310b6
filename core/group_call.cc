// SPDX-License-Identifier: Apache-2.0
// Bit layout of packed(), lowest bit first: kind 4, reduction 4, root 12, elements 44.
#include "core/group_call.h"

#include <fmt/core.h>

#include <array>

namespace stretto {

std::string_view name_of(CallKind kind) {
  constexpr std::array<std::string_view, 11> kNames = {
      "unknown", "barrier", "all_reduce",     "reduce",     "broadcast", "all_gather",
      "gather",  "scatter", "reduce_scatter", "all_to_all", "send"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : kNames.front();
}

std::uint64_t GroupCall::packed() const {
  return static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(op) << 4 |
         std::uint64_t{root} << 8 | elements << 20;
}

GroupCall GroupCall::unpack(std::uint64_t packed, Dtype dtype) {
  return {.kind = static_cast<CallKind>(packed & 0xF),
          .op = static_cast<ReduceOp>(packed >> 4 & 0xF),
          .dtype = dtype,
          .root = static_cast<std::uint32_t>(packed >> 8 & 0xFFF),
          .elements = packed >> 20};
}

std::string GroupCall::describe() const {
  const std::string what = fmt::format("{}[{}]", stretto::name_of(dtype), elements);
  switch (kind) {
    case CallKind::kBarrier:
      return "barrier()";
    case CallKind::kAllReduce:
    case CallKind::kReduceScatter:
      return fmt::format("{}({}, {})", stretto::name_of(kind), stretto::name_of(op), what);
    case CallKind::kReduce:
      return fmt::format("reduce({}, {}, root {})", stretto::name_of(op), what, root);
    case CallKind::kAllGather:
    case CallKind::kAllToAll:
      return fmt::format("{}({})", stretto::name_of(kind), what);
    default:
      return fmt::format("{}({}, root {})", stretto::name_of(kind), what, root);
  }
}

}  // namespace stretto
