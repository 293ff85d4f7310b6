// SPDX-License-Identifier: Apache-2.0
// A worker whose tensors travel with one codec each. It knows every worker's numbers, repeats the
// steps of all workers and servers locally with the functions of ops/, and compares every received
// value to the bit.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "ops/feedback.h"
#include "stretto/worker.h"

DEFINE_string(codecs, "none", "codecs with semicolons between");
DEFINE_int32(rounds, 5, "of every tensor");
DEFINE_int32(elements, 10'007, "of every tensor");
DEFINE_int32(part_bytes, 4096, "as STRETTO_PART_BYTES");
DEFINE_bool(apart, false, "push, then pull, instead of push_pull");

namespace stretto {
namespace {

using Floats = std::vector<float>;

/// The expected answer of the servers: every worker's parts are encoded, decoded and added, and the
/// sum is encoded and decoded, with the residual of each encoder.
class Reference {
 public:
  Reference(const std::string& name, const CodecSpec& codec, std::uint32_t workers)
      : name_(ops::name_hash(name)), codec_(codec), workers_(workers) {
    const std::size_t whole = part_elements();
    const auto all = static_cast<std::size_t>(FLAGS_elements);
    for (std::size_t first = 0; first < all; first += whole) {
      encoders_.emplace_back();
      for (std::uint32_t i = 0; i < workers; ++i) encoders_.back().emplace_back(codec, true);
      encoders_.back().emplace_back(codec, false);  // The server's encoder.
    }
  }

  Floats value(const std::vector<Floats>& shares, std::uint64_t round) {
    Floats sum(shares.front().size());
    for (std::uint32_t part = 0; part < encoders_.size(); ++part) {
      const std::size_t first = part * part_elements();
      const std::span<float> out =
          std::span(sum).subspan(first, std::min(part_elements(), sum.size() - first));
      const ops::PartRound what{.tensor = name_, .part = part, .round = round};
      for (std::uint32_t rank = 0; rank < workers_; ++rank) {
        const auto mine = std::span(shares[rank]).subspan(first, out.size());
        pass(encoders_[part][rank], mine,
             {.stream = ops::stream_for(codec_, what, rank), .unbiased = true}, out,
             rank == 0 ? ops::Then::kAssign : ops::Then::kAdd);
      }
      if (!codec_.lossy()) continue;
      const Floats total(out.begin(), out.end());
      pass(encoders_[part][workers_], total,
           {.stream = ops::stream_for(codec_, what, ops::kServersTurn)}, out, ops::Then::kAssign);
    }
    return sum;
  }

 private:
  static std::size_t part_elements() {
    return static_cast<std::size_t>(FLAGS_part_bytes) / sizeof(float);
  }

  void pass(ops::PartEncoder& encoder, std::span<const float> numbers, const ops::Encoding& how,
            std::span<float> out, ops::Then then) const {
    if (!codec_.lossy()) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = then == ops::Then::kAssign ? numbers[i] : out[i] + numbers[i];
      }
      return;
    }
    std::vector<std::byte> bytes(ops::encoded_bytes(codec_, numbers.size()));
    encoder.encode(numbers, how, bytes);
    ops::decode(codec_, bytes, out, then);
  }

  std::uint64_t name_;
  CodecSpec codec_;
  std::uint32_t workers_;
  std::vector<std::vector<ops::PartEncoder>>
      encoders_;  // For each part: the workers' encoders, the server's.
};

struct Coded {
  std::string name;
  Tensor tensor;
  Reference reference;
  std::vector<Floats> shares;  // The contributions of all workers.
  Floats value;
  Ticket ticket;
};

Floats numbers_of(std::uint32_t rank, std::uint64_t round) {
  std::mt19937_64 random(1000 * round + rank);
  std::normal_distribution<float> gradient(0, 0.01F);
  Floats numbers(static_cast<std::size_t>(FLAGS_elements));
  for (float& number : numbers) number = gradient(random);
  return numbers;
}

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  std::size_t first = 0;
  while (first <= text.size()) {
    const std::size_t end = std::min(text.find(';', first), text.size());
    names.push_back(text.substr(first, end - first));
    first = end + 1;
  }
  return names;
}

Status begin(Worker& worker, Coded& coded) {
  const Floats& mine = coded.shares[worker.rank()];
  if (!FLAGS_apart) {
    coded.ticket = worker.push_pull(coded.tensor, mine, coded.value);
    return {};
  }
  Status status = worker.push(coded.tensor, mine).wait();
  if (status.ok()) coded.ticket = worker.pull(coded.tensor, coded.value);
  return status;
}

/// Returns 0, or 1 if a bit was wrong.
int exchange(Worker& worker, std::vector<Coded>& all) {
  std::uint64_t wrong = 0;
  for (int round = 1; round <= FLAGS_rounds; ++round) {
    for (Coded& coded : all) {
      for (std::uint32_t rank = 0; rank < worker.size(); ++rank) {
        coded.shares[rank] = numbers_of(rank, static_cast<std::uint64_t>(round));
      }
      begin(worker, coded).or_exit();
    }
    for (Coded& coded : all) {
      coded.ticket.wait().or_exit();
      const Floats wanted = coded.reference.value(coded.shares, static_cast<std::uint64_t>(round));
      if (std::memcmp(wanted.data(), coded.value.data(), wanted.size() * sizeof(float)) == 0) {
        continue;
      }
      ++wrong;
      const auto [found, other] = std::ranges::mismatch(coded.value, wanted);
      std::printf("WRONG %s round %d\n", coded.name.c_str(), round);
      if (found != coded.value.end()) std::printf("found %.9g, wanted %.9g\n", *found, *other);
    }
  }
  std::printf("verified codecs=%zu rounds=%d wrong=%llu\n", all.size(), FLAGS_rounds,
              static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}

int run() {
  Worker worker = Worker::join().or_exit();
  std::vector<Coded> all;
  for (const std::string& name : names_in(FLAGS_codecs)) {
    const CodecSpec codec = codec_from(name).or_exit();
    const auto elements = static_cast<std::size_t>(FLAGS_elements);
    const Tensor tensor = worker.declare(name, Dtype::kF32, elements, {.codec = codec}).or_exit();
    all.push_back({name,
                   tensor,
                   Reference(name, codec, worker.size()),
                   std::vector<Floats>(worker.size()),
                   Floats(elements),
                   {}});
  }
  const int outcome = exchange(worker, all);
  worker.leave().or_exit();
  return outcome;
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  gflags::SetUsageMessage("exchanges with codecs, and checks every bit");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  return stretto::run();
}
