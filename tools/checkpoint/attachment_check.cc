// SPDX-License-Identifier: Apache-2.0
// Stripes have no offsets: each begins at the end of the previous one.
#include "tools/checkpoint/attachment_check.h"

#include <fmt/core.h>

#include <string_view>

#include "tools/checkpoint/tensor_file.h"

namespace stretto::checkpoint {
namespace {

Status unfit(const Inventory::Attached& attached, std::string_view what) {
  return {Code::kMalformed, fmt::format("{} {}", attached.describe(), what)};
}

}  // namespace

Status check_whole(const Inventory::Attached& attached) {
  std::uint32_t next = 0;
  for (const auto& [number, bytes] : attached.stripes) {
    if (number != next) break;
    ++next;
  }
  if (next < attached.stripes.size() || attached.saved < attached.bytes()) {
    return unfit(attached, fmt::format("is there in part: its stripe {} is not saved, and {} of {} "
                                       "bytes are",
                                       next, attached.saved, attached.bytes()));
  }
  if (attached.saved > attached.bytes()) {
    return unfit(attached, fmt::format("has {} bytes in {} stripes, and is said to have {}",
                                       attached.saved, next, attached.bytes()));
  }
  if (!attached.dtype || attached.bytes() % bytes_of(*attached.dtype) == 0) return {};
  return unfit(attached,
               fmt::format("has {} bytes, and elements of {} have {} each", attached.bytes(),
                           name_of(*attached.dtype), bytes_of(*attached.dtype)));
}

Status check_shape(const Inventory::Attached& attached) {
  if (!attached.dtype || shape_fits(attached.shape, attached.elements())) return {};
  return unfit(attached, fmt::format("has {} elements of {}, and '{}' is no shape of so many",
                                     attached.elements(), name_of(*attached.dtype),
                                     attached.shape.substr(0, kMaxShapeBytes)));
}

}  // namespace stretto::checkpoint
