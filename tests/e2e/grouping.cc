// SPDX-License-Identifier: Apache-2.0
// A worker that makes each kind of call of a group once, checks the results, and calls a barrier of
// the job. Ends with the line `grouped workers=N`; status 1 with an ERROR line, or 3 for a wrong
// value.
#include <fmt/format.h>
#include <stretto/group.h>
#include <stretto/worker.h>

#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

namespace stretto {
namespace {

constexpr int kWrongValueStatus = 3;
constexpr std::size_t kElements = 10'007;

using Numbers = std::vector<std::int64_t>;

// Different numbers for each worker.
Numbers numbers_of(std::uint32_t rank, std::size_t elements = kElements) {
  Numbers numbers(elements);
  std::iota(numbers.begin(), numbers.end(), std::int64_t{1000} * rank);
  return numbers;
}

std::span<const std::byte> bytes_of(const Numbers& numbers) {
  return std::as_bytes(std::span(numbers));
}
std::span<std::byte> memory_of(Numbers& numbers) {
  return std::as_writable_bytes(std::span(numbers));
}

Numbers sum_of_all(std::uint32_t workers) {
  Numbers sum(kElements);
  for (std::uint32_t rank = 0; rank < workers; ++rank) {
    const Numbers theirs = numbers_of(rank);
    for (std::size_t i = 0; i < kElements; ++i) sum[i] += theirs[i];
  }
  return sum;
}

// The names of the calls whose values are wrong.
std::string wrong_calls(Group& group) {
  std::string wrong;
  const auto expect = [&wrong](const char* call, bool right) {
    if (!right) wrong += fmt::format(" {}", call);
  };
  const std::uint32_t size = group.size();
  const std::uint32_t last = size - 1;
  const Numbers mine = numbers_of(group.rank());

  Numbers sum(kElements);
  group.all_reduce(Dtype::kI64, bytes_of(mine), memory_of(sum)).wait().or_exit();
  expect("all_reduce", sum == sum_of_all(size));

  Numbers told = mine;
  group.broadcast(memory_of(told), last).wait().or_exit();
  expect("broadcast", told == numbers_of(last));

  Numbers blocks(kElements * size);
  group.all_gather(bytes_of(mine), memory_of(blocks)).wait().or_exit();
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const auto begin = blocks.begin() + static_cast<std::ptrdiff_t>(rank * kElements);
    expect("all_gather", Numbers(begin, begin + kElements) == numbers_of(rank));
  }

  if (size == 1) return wrong;
  // Sends to the next rank, and receives from the previous rank.
  Numbers received(kElements);
  const Ticket sent = group.send(bytes_of(mine), (group.rank() + 1) % size, 7);
  const std::uint32_t before = (group.rank() + last) % size;
  group.receive(memory_of(received), before, 7).wait().or_exit();
  sent.wait().or_exit();
  expect("send", received == numbers_of(before));
  return wrong;
}

int run() {
  Worker worker = Worker::join().or_exit();
  Group group = Group::of(worker).or_exit();
  const std::string wrong = wrong_calls(group);
  worker.barrier().or_exit();
  const std::uint32_t workers = worker.size();
  worker.leave().or_exit();
  std::printf("%s\n", wrong.empty() ? fmt::format("grouped workers={}", workers).c_str()
                                    : fmt::format("WRONG{}", wrong).c_str());
  return wrong.empty() ? 0 : kWrongValueStatus;
}

}  // namespace
}  // namespace stretto

int main() { return stretto::run(); }
