// SPDX-License-Identifier: Apache-2.0
// A call in one number, and in words.
#include "core/group_call.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(GroupCall, IsInOneNumber) {
  for (int kind = 1; kind <= static_cast<int>(CallKind::kSend); ++kind) {
    const GroupCall call{.kind = static_cast<CallKind>(kind),
                         .op = ReduceOp::kAverage,
                         .dtype = Dtype::kI64,
                         .root = kMostGroupPlaces - 1,
                         .elements = (std::uint64_t{1} << 44) - 1};
    EXPECT_EQ(GroupCall::unpack(call.packed(), call.dtype), call);
  }
}

TEST(GroupCall, IsSaidAsItIsCalled) {
  const GroupCall sum{.kind = CallKind::kAllReduce, .dtype = Dtype::kF32, .elements = 10};
  EXPECT_EQ(sum.describe(), "all_reduce(sum, f32[10])");
  const GroupCall cast{.kind = CallKind::kBroadcast, .root = 2, .elements = 10};
  EXPECT_EQ(cast.describe(), "broadcast(u8[10], root 2)");
  EXPECT_EQ(GroupCall{}.describe(), "barrier()");
  EXPECT_EQ(name_of(static_cast<CallKind>(15)), "unknown");
}

}  // namespace
}  // namespace stretto
