// SPDX-License-Identifier: Apache-2.0
// Group calls in whole jobs: real links between workers, real threads.
#include "stretto/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <functional>

#include "tests/worker/live_cluster.h"
#include "tests/worker/whole_numbers.h"

namespace stretto {
namespace {

using live::Cluster;
using live::Floats;
using live::numbers;
using live::sum_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct GroupCase {
  std::uint32_t workers;
  Exchange exchange;
  TransportChoice transport;
};

std::span<const std::byte> bytes(const Floats& all) { return std::as_bytes(std::span(all)); }
std::span<std::byte> bytes(Floats& all) { return std::as_writable_bytes(std::span(all)); }

void expect_ok(const Ticket& ticket) {
  const Status status = ticket.wait();
  EXPECT_TRUE(status.ok()) << status.text();
}

/// The numbers that one member sends to another.
Floats letter(std::size_t count, Rank from, Rank to) {
  return numbers(count, from, static_cast<int>(100 * to));
}

class Grouped : public testing::TestWithParam<GroupCase> {
 protected:
  static constexpr std::array<std::size_t, 6> kSizes = {0, 1, 63, 64, 65, 3000};

  /// Runs `program` at each worker, with a group of all workers.
  static void run(const std::function<void(Worker&, Group&)>& program) {
    Cluster({.workers = GetParam().workers,
             .shards = 1,
             .job = {.part_bytes = 4096},
             .transport = GetParam().transport})
        .run([&program](Worker& worker) {
          Result<Group> group = Group::of(worker, {}, {.exchange = GetParam().exchange});
          ASSERT_TRUE(group.ok()) << group.status().text();
          program(worker, *group);
        });
  }
};

TEST_P(Grouped, AllReduceSumsEverySize) {
  run([](Worker& worker, Group& group) {
    for (const std::size_t size : kSizes) {
      const Floats mine = numbers(size, worker.rank(), 1);
      Floats sum(size);
      expect_ok(group.all_reduce(Dtype::kF32, bytes(mine), bytes(sum)));
      ASSERT_EQ(sum, sum_of(size, group.size(), 1)) << size;
      Floats in_place = numbers(size, worker.rank(), 2);
      expect_ok(group.all_reduce(Dtype::kF32, bytes(in_place), bytes(in_place)));
      ASSERT_EQ(in_place, sum_of(size, group.size(), 2)) << size;
    }
  });
}

TEST_P(Grouped, ManyCallsAreInFlightAtOnce) {
  run([](Worker& worker, Group& group) {
    constexpr int kCalls = 20;
    std::vector<Floats> all;
    std::vector<Ticket> tickets;
    for (int call = 0; call < kCalls; ++call) all.push_back(numbers(2500, worker.rank(), call));
    for (Floats& each : all) {
      tickets.push_back(group.all_reduce(Dtype::kF32, bytes(each), bytes(each)));
    }
    for (int call = 0; call < kCalls; ++call) {
      const auto at = static_cast<std::size_t>(call);
      expect_ok(tickets[at]);
      ASSERT_EQ(all[at], sum_of(2500, group.size(), call));
    }
  });
}

TEST_P(Grouped, ReductionsBesideSumsAreMade) {
  run([](Worker& worker, Group& group) {
    const auto made = [&](ReduceOp op, std::int64_t mine) {
      std::int64_t value = 0;
      const auto source = std::as_bytes(std::span(&mine, 1));
      expect_ok(
          group.all_reduce(Dtype::kI64, source, std::as_writable_bytes(std::span(&value, 1)), op));
      return value;
    };
    const std::int64_t own = worker.rank() + 1;
    const std::int64_t count = group.size();
    EXPECT_EQ(made(ReduceOp::kMin, own), 1);
    EXPECT_EQ(made(ReduceOp::kMax, own), count);
    EXPECT_EQ(made(ReduceOp::kAverage, 4 * own), 2 * (count + 1));
    EXPECT_EQ(made(ReduceOp::kAnd, 8 | own), count == 1 ? 9 : 8);
    EXPECT_EQ(made(ReduceOp::kOr, std::int64_t{1} << own), (std::int64_t{2} << count) - 2);
  });
}

TEST_P(Grouped, OneGivesToAllAndAllToOne) {
  run([](Worker& worker, Group& group) {
    for (const std::size_t size : kSizes) {
      for (std::uint32_t root = 0; root < group.size(); ++root) {
        Floats data = numbers(size, worker.rank(), 3);
        expect_ok(group.broadcast(bytes(data), root));
        ASSERT_EQ(data, numbers(size, root, 3));
        const bool at_root = worker.rank() == root;
        Floats sum(at_root ? size : 0);
        expect_ok(group.reduce(Dtype::kF32, bytes(data), bytes(sum), root));
        if (at_root) {
          Floats wanted(size);
          for (std::size_t i = 0; i < size; ++i) wanted[i] = data[i] * float(group.size());
          ASSERT_EQ(sum, wanted);
        }
      }
    }
  });
}

TEST_P(Grouped, BlocksAreGatheredAndScattered) {
  run([](Worker& worker, Group& group) {
    const std::uint32_t count = group.size();
    for (const std::size_t size : kSizes) {
      Floats all(size * count);
      Floats wanted;
      for (Rank from = 0; from < count; ++from) {
        const Floats block = numbers(size, from, 5);
        wanted.insert(wanted.end(), block.begin(), block.end());
      }
      const Floats mine = numbers(size, worker.rank(), 5);
      expect_ok(group.all_gather(bytes(mine), bytes(all)));
      ASSERT_EQ(all, wanted);
      Floats block(size);
      const Floats none;
      for (std::uint32_t root = 0; root < count; ++root) {
        const bool at_root = worker.rank() == root;
        Floats gathered(at_root ? size * count : 0);
        expect_ok(group.gather(bytes(mine), bytes(gathered), root));
        ASSERT_TRUE(!at_root || gathered == wanted);
        expect_ok(group.scatter(at_root ? bytes(wanted) : bytes(none), bytes(block), root));
        ASSERT_EQ(block, mine);
      }
      expect_ok(group.reduce_scatter(Dtype::kF32, bytes(wanted), bytes(block)));
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(block[i], mine[i] * float(count));
    }
  });
}

TEST_P(Grouped, AllSendToAllBlocksOfLikeAndUnlikeSizes) {
  run([](Worker& worker, Group& group) {
    const Rank self = worker.rank();
    const std::uint32_t count = group.size();
    const auto size_of = [](Rank from, Rank to) { return std::size_t{1500} * from + 7 * to; };
    for (const bool like : {true, false}) {
      Floats out;
      Floats wanted;
      std::vector<std::size_t> give;
      std::vector<std::size_t> take;
      for (Rank other = 0; other < count; ++other) {
        const Floats to = letter(like ? 50 : size_of(self, other), self, other);
        const Floats from = letter(like ? 50 : size_of(other, self), other, self);
        out.insert(out.end(), to.begin(), to.end());
        wanted.insert(wanted.end(), from.begin(), from.end());
        give.push_back(to.size() * sizeof(float));
        take.push_back(from.size() * sizeof(float));
      }
      Floats in(wanted.size());
      expect_ok(like ? group.all_to_all(bytes(out), bytes(in))
                     : group.all_to_all(bytes(out), give, bytes(in), take));
      ASSERT_EQ(in, wanted);
    }
  });
}

TEST_P(Grouped, SendsOfATagComeInTheirOrder) {
  run([](Worker& worker, Group& group) {
    const Rank next = (worker.rank() + 1) % group.size();
    const Rank last = (worker.rank() + group.size() - 1) % group.size();
    if (group.size() == 1) return;
    std::vector<Floats> in(4, Floats(2000));
    std::vector<Floats> out;
    std::vector<Ticket> tickets;
    for (int i = 0; i < 4; ++i) out.push_back(numbers(2000, worker.rank(), i));
    // Two each with tags 0 and 1; the receiver asks for tag 1 first.
    for (const int i : {0, 1, 2, 3}) {
      tickets.push_back(group.send(bytes(std::as_const(out[static_cast<std::size_t>(i)])), next,
                                   i % 2 == 0 ? 0 : 1));
    }
    for (const int i : {1, 3, 0, 2}) {
      tickets.push_back(
          group.receive(bytes(in[static_cast<std::size_t>(i)]), last, i % 2 == 0 ? 0 : 1));
    }
    for (const Ticket& ticket : tickets) expect_ok(ticket);
    for (int i = 0; i < 4; ++i) ASSERT_EQ(in[static_cast<std::size_t>(i)], numbers(2000, last, i));
  });
}

TEST_P(Grouped, LateMemberReceivesHeldCalls) {
  run([](Worker& worker, Group& group) {
    constexpr std::size_t kSize = 150'000;  // Three calls exceed the allowance twofold.
    constexpr int kCalls = 3;
    Group side = Group::of(worker).or_exit();
    const Rank self = worker.rank();
    const Rank last = group.size() - 1;
    std::vector<Floats> sums;
    for (int call = 0; call < kCalls; ++call) sums.push_back(numbers(kSize, self, call));
    Floats from_first = numbers(kSize, self, 7);
    const Floats mine = numbers(kSize, self, 8);
    Floats reduced(self == last ? kSize : 0);
    std::vector<Ticket> tickets;
    const auto begin_calls = [&] {
      for (Floats& each : sums) {
        tickets.push_back(group.all_reduce(Dtype::kF32, bytes(each), bytes(each)));
      }
      tickets.push_back(group.broadcast(bytes(from_first), 0));
      tickets.push_back(group.reduce(Dtype::kF32, bytes(mine), bytes(reduced), last));
    };
    if (self != last) begin_calls();
    expect_ok(side.barrier());  // Calls of another group do not wait for held ones.
    if (self == last) begin_calls();
    for (const Ticket& ticket : tickets) expect_ok(ticket);
    for (int call = 0; call < kCalls; ++call) {
      ASSERT_EQ(sums[static_cast<std::size_t>(call)], sum_of(kSize, group.size(), call));
    }
    ASSERT_EQ(from_first, numbers(kSize, 0, 7));
    if (self == last) {
      ASSERT_EQ(reduced, sum_of(kSize, group.size(), 8));
    }
  });
}

std::vector<GroupCase> group_cases() {
  std::vector<GroupCase> all;
  for (const std::uint32_t workers : {1U, 2U, 3U, 5U}) {
    for (const Exchange exchange : {Exchange::kDirect, Exchange::kRing, Exchange::kHalving,
                                    Exchange::kTree, Exchange::kHierarchical}) {
      all.push_back({workers, exchange, TransportChoice::kAuto});
    }
  }
  all.push_back({2, Exchange::kDirect, TransportChoice::kTcp});
  all.push_back({4, Exchange::kRing, TransportChoice::kTcp});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Grouped, testing::ValuesIn(group_cases()), [](const auto& each) {
  return std::to_string(each.param.workers) + "By" + std::string(name_of(each.param.exchange)) +
         (each.param.transport == TransportChoice::kTcp ? "OverTcp" : "");
});

// ---- membership

TEST(Group, SomeWorkersMakeCallsThatOthersDoNotHearOf) {
  Cluster({.workers = 4, .shards = 1}).run([](Worker& worker) {
    const bool even = worker.rank() % 2 == 0;
    Result<Group> half =
        Group::of(worker, even ? std::vector<Rank>{2, 0} : std::vector<Rank>{1, 3});
    ASSERT_TRUE(half.ok()) << half.status().text();
    EXPECT_EQ(half->rank(), worker.rank() / 2);
    EXPECT_THAT(half->ranks(), even ? ElementsAre(0, 2) : ElementsAre(1, 3));
    for (int call = 0; call < (even ? 5 : 9); ++call) {
      Floats sum = numbers(100, worker.rank(), call);
      expect_ok(half->all_reduce(Dtype::kF32, bytes(sum), bytes(sum)));
      Floats wanted = numbers(100, even ? 0 : 1, call);
      const Floats more = numbers(100, even ? 2 : 3, call);
      std::transform(wanted.begin(), wanted.end(), more.begin(), wanted.begin(), std::plus<>());
      ASSERT_EQ(sum, wanted);
    }
  });
}

TEST(Group, InvalidRanksAndExchangeAreRefused) {
  Cluster({.workers = 1, .shards = 1}).run([](Worker& worker) {
    const auto text = [&worker](std::vector<Rank> ranks) {
      return Group::of(worker, std::move(ranks)).status().text();
    };
    EXPECT_THAT(text({1}), HasSubstr("rank 1 of 1 workers; ranks are 0 to 0"));
    EXPECT_THAT(text({0, 0}), HasSubstr("rank 0 is named twice"));
    EXPECT_THAT(Group::of(worker, {}, {.exchange = Exchange::kServers}).status().text(),
                HasSubstr("a group has direct, ring, halving and tree"));
  });
}

// ---- errors

/// The errors of two workers that make these calls, on a group that both have used.
std::vector<std::string> told_of(const std::function<Ticket(Group&, Floats&)>& first,
                                 const std::function<Ticket(Group&, Floats&)>& second) {
  std::vector<std::string> told(2);
  Cluster({.workers = 2, .shards = 1}).run([&](Worker& worker) {
    Result<Group> group = Group::of(worker);
    ASSERT_TRUE(group.ok()) << group.status().text();
    Floats data(4000);
    told[worker.rank()] = (worker.rank() == 0 ? first : second)(*group, data).wait().text();
    EXPECT_EQ(group->barrier().wait().code(), Code::kMismatch) << "it can be used no further";
  });
  return told;
}

Ticket sum(Group& group, Floats& data, std::size_t count, Dtype dtype = Dtype::kF32,
           ReduceOp op = ReduceOp::kSum) {
  const std::span<std::byte> used = bytes(data).first(count * bytes_of(dtype));
  return group.all_reduce(dtype, used, used, op);
}

TEST(Group, CallsThatDisagreeEndAtAllWithBoth) {
  const auto is_told = [](const std::string& one, const std::string& other) {
    return testing::Each(
        AllOf(HasSubstr("Mismatch"), HasSubstr("in call 2"), HasSubstr(one), HasSubstr(other)));
  };
  const auto ten = [](Group& group, Floats& data) { return sum(group, data, 10); };
  EXPECT_THAT(told_of(ten, [](Group& group, Floats& data) { return sum(group, data, 4000); }),
              is_told("all_reduce(sum, f32[10])", "all_reduce(sum, f32[4000])"));
  EXPECT_THAT(
      told_of(ten, [](Group& group, Floats& data) { return sum(group, data, 10, Dtype::kI32); }),
      is_told("all_reduce(sum, f32[10])", "all_reduce(sum, i32[10])"));
  EXPECT_THAT(
      told_of(ten, [](Group& group,
                      Floats& data) { return sum(group, data, 10, Dtype::kF32, ReduceOp::kMax); }),
      is_told("all_reduce(sum, f32[10])", "all_reduce(max, f32[10])"));
  EXPECT_THAT(told_of(ten, [](Group& group, Floats&) { return group.barrier(); }),
              is_told("all_reduce(sum, f32[10])", "barrier()"));
  EXPECT_THAT(told_of(ten, [](Group& group, Floats& data) { return sum(group, data, 0); }),
              is_told("all_reduce(sum, f32[10])", "all_reduce(sum, f32[0])"));
  EXPECT_THAT(told_of([](Group& group, Floats& data) { return sum(group, data, 0); }, ten),
              is_told("all_reduce(sum, f32[10])", "all_reduce(sum, f32[0])"));
  // Each call names its own worker as the root, and waits for the peer.
  const auto reduced = [](Group& group, Floats& data) {
    return group.reduce(Dtype::kF32, bytes(data).first(8), bytes(data).first(8), group.rank());
  };
  EXPECT_THAT(told_of(reduced, reduced), is_told("root 0", "root 1"));
  const auto scattered = [](Group& group, Floats& data) {
    return group.scatter(bytes(data).first(16), bytes(data).last(8), group.rank());
  };
  EXPECT_THAT(told_of(scattered, scattered), is_told("root 0", "root 1"));
  const auto gathered = [](Group& group, Floats& data) {
    return group.gather(bytes(data).first(8), {}, 0);
  };
  EXPECT_THAT(told_of(scattered, gathered), is_told("scatter(", "gather("));
  EXPECT_THAT(told_of([](Group& group, Floats& data) { return group.broadcast(bytes(data), 0); },
                      [](Group& group, Floats& data) { return group.broadcast(bytes(data), 1); }),
              is_told("root 0", "root 1"));
}

TEST(Group, InvalidCallsAreRefusedBeforeSending) {
  Cluster({.workers = 2, .shards = 1}).run([](Worker& worker) {
    Group group = Group::of(worker).or_exit();
    Floats ten(10);
    Floats five(5);
    EXPECT_THAT(group.all_reduce(Dtype::kF32, bytes(ten), bytes(five)).wait().text(),
                HasSubstr("the target has 20 bytes, wanted 10 elements of f32"));
    EXPECT_THAT(group.broadcast(bytes(ten), 2).wait().text(),
                HasSubstr("root 2 of 2 members; they are 0 to 1"));
    EXPECT_THAT(group.all_reduce(Dtype::kF32, bytes(ten), bytes(ten), ReduceOp::kXor).wait().text(),
                HasSubstr("xor of f32 is not defined"));
    EXPECT_THAT(group.send(bytes(ten), worker.rank()).wait().text(),
                HasSubstr("wanted two different ones"));
    EXPECT_THAT(group.receive(bytes(ten), 99).wait().text(), HasSubstr("from member 99 to"));
    EXPECT_THAT(group.all_to_all(bytes(ten), bytes(ten)).wait().text(),
                HasSubstr("the source overlaps the target"));
    const std::array<std::size_t, 2> give = {20, 20};
    const std::array<std::size_t, 2> take = {28, 12};
    Floats others(10);
    EXPECT_THAT(group.all_to_all(bytes(ten), give, bytes(others), take).wait().text(),
                HasSubstr("given to oneself"));
    expect_ok(group.barrier());
  });
}

TEST(Group, WaitersNameDepartedMember) {
  Cluster({.workers = 2, .shards = 1}).run([](Worker& worker) {
    Group group = Group::of(worker).or_exit();
    Floats data(1000, 1.0F);
    expect_ok(group.all_reduce(Dtype::kF32, bytes(data), bytes(data)));
    if (worker.rank() == 1) return;
    EXPECT_THAT(group.all_reduce(Dtype::kF32, bytes(data), bytes(data)).wait().text(),
                AllOf(HasSubstr("PeerLost"), HasSubstr("worker 1 has left the job")));
  });
}

TEST(Group, HeldCallEndsWithItsReceiver) {
  std::barrier begun(2);
  Cluster({.workers = 2, .shards = 1, .job = {.part_bytes = 4096}}).run([&](Worker& worker) {
    Group group = Group::of(worker).or_exit();
    Floats data(4 << 20, 1.0F);
    const bool leaves = worker.rank() == 1;
    const Ticket held =
        leaves ? Ticket() : group.reduce(Dtype::kF32, bytes(std::as_const(data)), {}, 1);
    begun.arrive_and_wait();
    if (leaves) return;
    EXPECT_THAT(held.wait().text(),
                AllOf(HasSubstr("PeerLost"), HasSubstr("worker 1 has left the job")));
  });
}

/// Worker 0 waits for worker 2, which leaves. Worker 1 waits for worker 0: from the beginning, or
/// after worker 0 has failed.
void lose_the_last(bool late) {
  std::barrier begun(3);
  std::barrier told(2);
  std::barrier ended(2);
  Cluster({.workers = 3, .shards = 1, .operation_timeout = 20s}).run([&](Worker& worker) {
    Group group = Group::of(worker).or_exit();
    const Rank self = worker.rank();
    Floats data(10);
    Ticket ticket;
    const auto receive = [&] { ticket = group.receive(bytes(data), self == 0 ? 2 : 0, 1); };
    if (self == 0 || (self == 1 && !late)) receive();
    expect_ok(group.barrier());  // By now the receives have begun.
    begun.arrive_and_wait();
    if (self == 2) return;
    if (self == 0) static_cast<void>(ticket.wait());
    told.arrive_and_wait();
    if (self == 1 && late) receive();
    EXPECT_THAT(ticket.wait().text(),
                AllOf(HasSubstr("PeerLost"), HasSubstr("worker 2 has left the job")));
    ended.arrive_and_wait();
  });
}

TEST(Group, PendingReceiveNamesPeersLostMember) { lose_the_last(false); }
TEST(Group, LaterReceiveNamesPeersLostMember) { lose_the_last(true); }

TEST(Group, AWorkerThatHasOneMaySitOut) {
  Cluster({.workers = 2, .shards = 1}).run([](Worker& worker) {
    Group group = Group::of(worker).or_exit();
    const Tensor tensor = worker.declare("t", Dtype::kF32, 10).or_exit();
    Floats value(10, 1.0F);
    if (worker.rank() == 0) {
      expect_ok(worker.push_pull(tensor, std::span<const float>(value), std::span(value)));
      EXPECT_EQ(value.front(), 1.0F) << "the other one gives nothing";
    }
    const Result<Rank> last = worker.sit_out();
    ASSERT_TRUE(last.ok()) << last.status().text();
    expect_ok(group.all_reduce(Dtype::kF32, bytes(value), bytes(value)));
    EXPECT_EQ(value.front(), 2.0F);
  });
}

TEST(Group, TicketNamesAwaitedWorkers) {
  std::barrier looked(2);
  Cluster({.workers = 2, .shards = 1}).run([&looked](Worker& worker) {
    Group group = Group::of(worker).or_exit();
    if (worker.rank() == 0) {
      const Ticket ticket = group.barrier();
      EXPECT_EQ(ticket.wait_for(50ms).code(), Code::kTimeout);
      EXPECT_THAT(ticket.waits_for(), HasSubstr("it waits for worker 1"));
      looked.arrive_and_wait();
      expect_ok(ticket);
      EXPECT_EQ(ticket.waits_for(), "");
    } else {
      looked.arrive_and_wait();
      expect_ok(group.barrier());
    }
  });
}

TEST(Group, TimeoutNamesMissingMember) {
  std::barrier late(2);
  Cluster({.workers = 2, .shards = 1, .operation_timeout = 1s}).run([&late](Worker& worker) {
    Group group = Group::of(worker).or_exit();
    expect_ok(group.barrier());
    if (worker.rank() == 0) {
      EXPECT_THAT(group.barrier().wait().text(),
                  AllOf(HasSubstr("Timeout"), HasSubstr("it waits for worker 1")));
    }
    late.arrive_and_wait();
  });
}

}  // namespace
}  // namespace stretto
