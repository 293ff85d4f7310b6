// SPDX-License-Identifier: Apache-2.0
// Numbers given to a tensor of another type: not compiled, or refused before anything has left.
#include "stretto/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/worker/live_cluster.h"

namespace stretto {
namespace {

using testing::Each;
using testing::HasSubstr;

using Floats = std::vector<float>;

template <typename Source>
concept CanBePushed =
    requires(Worker worker, Tensor tensor, Source source) { worker.push(tensor, source); };
template <typename Target>
concept CanBePulledTo = requires(Worker worker, Tensor tensor, Target target) {
  worker.pull(tensor, std::forward<Target>(target));
};
static_assert(CanBePushed<Floats> && CanBePushed<std::span<const double>>);
static_assert(CanBePushed<std::array<std::int64_t, 2>> && CanBePushed<std::vector<std::byte>>);
static_assert(!CanBePushed<std::vector<bool>> && !CanBePushed<std::vector<std::uint32_t>>);
static_assert(!CanBePushed<std::vector<std::int16_t>>);
static_assert(!CanBePushed<std::string> && !CanBePushed<std::vector<float*>>);
static_assert(CanBePulledTo<Floats&> && CanBePulledTo<std::span<float>>);
static_assert(CanBePulledTo<std::vector<std::byte>&>);
static_assert(!CanBePulledTo<const Floats&> && !CanBePulledTo<std::span<const float>>);
static_assert(!CanBePulledTo<Floats&&>, "it would be gone before the value comes");

TEST(Numbers, OfAnotherTypeAreRefusedAlsoWhereTheirBytesFit) {
  live::Cluster cluster;
  cluster.run([](Worker& worker) {
    const Tensor tensor = worker.declare("x", Dtype::kF32, 4).or_exit();
    const Tensor halves = worker.declare("h", Dtype::kBf16, 4).or_exit();
    Floats four(4, 1.0F);
    std::vector<double> doubles(2);
    std::array<std::int32_t, 4> integers{};
    std::vector<std::uint16_t> bits(4);
    const auto expect_refused = [](const Ticket& ticket, const char* says) {
      EXPECT_TRUE(ticket.done());
      EXPECT_EQ(ticket.wait().code(), Code::kInvalidArgument);
      EXPECT_THAT(ticket.wait().cause(), HasSubstr(says));
    };
    expect_refused(worker.push(tensor, doubles), "the source holds f64, tensor '");
    expect_refused(worker.push(tensor, std::span(integers)), "the source holds i32");
    expect_refused(worker.pull(tensor, integers), "the target holds i32");
    expect_refused(worker.push_pull(tensor, doubles, four), "the source holds f64");
    expect_refused(worker.push_pull(tensor, four, doubles), "the target holds f64");
    expect_refused(worker.broadcast(tensor, doubles, 0), "the data holds f64");
    expect_refused(worker.push(tensor, std::vector<std::uint16_t>(8)), "holds f16 or bf16");
    EXPECT_EQ(worker.push(tensor, doubles).wait().operation(), "push");
    EXPECT_TRUE(worker.push_pull(halves, bits, bits).wait().ok());
    EXPECT_TRUE(worker
                    .push_pull(tensor, std::as_bytes(std::span(four)),
                               std::as_writable_bytes(std::span(four)))
                    .wait()
                    .ok())
        << "bytes are taken as what the tensor holds; round 1 was still to come";
    EXPECT_THAT(four, Each(2.0F));
  });
}

}  // namespace
}  // namespace stretto
