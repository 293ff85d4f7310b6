// SPDX-License-Identifier: Apache-2.0
// Forked processes that share one mapping. It holds the blocks that an arena would have, and as
// few, so that they stay in a cache as an arena's do.
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "common/clock.h"
#include "common/memory/buffer.h"
#include "ops/sum.h"
#include "tools/bench/limits/raw_exchange.h"
#include "tools/bench/support/child.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/processes.h"
#include "tools/bench/support/report_pipe.h"

namespace stretto::bench {
namespace {

constexpr std::uint64_t kBlocks = 4;  // In flight for one process.
constexpr std::uint64_t kWarmUpParts = 64;
constexpr Duration kCopiesTake = 60s;

/// The shared memory: a start barrier, the amount of work, and blocks of one part each.
class Common {
 public:
  explicit Common(const RawShape& shape)
      : part_bytes_(std::max(shape.out_bytes, shape.back_bytes)),
        bytes_(kHead +
               (shape.workers + std::uint64_t{shape.servers} * shape.shards) * kBlocks * padded()),
        memory_(
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (!is_there()) return;
    auto* head = new (memory_) Head;
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&head->start, &shared, shape.workers + shape.servers * shape.shards);
    pthread_barrierattr_destroy(&shared);
  }
  ~Common() {
    if (is_there()) ::munmap(memory_, bytes_);
  }
  Common(const Common&) = delete;
  Common& operator=(const Common&) = delete;

  bool is_there() const { return memory_ != MAP_FAILED; }
  void meet() const { pthread_barrier_wait(&head().start); }
  std::uint64_t& parts() const { return head().parts; }
  /// A block of a process: workers first, then the servers' endpoints.
  std::span<std::byte> block(std::uint64_t process, std::uint64_t index) const {
    auto* start = static_cast<std::byte*>(memory_) + kHead;
    return {start + (process * kBlocks + index % kBlocks) * padded(), part_bytes_};
  }

 private:
  struct Head {
    pthread_barrier_t start;
    std::uint64_t parts = 0;  // Exchanged by each worker.
  };
  static constexpr std::size_t kHead = 4096;

  Head& head() const { return *std::launder(static_cast<Head*>(memory_)); }
  std::uint64_t padded() const { return (part_bytes_ + 4095) / 4096 * 4096; }

  std::uint64_t part_bytes_;
  std::uint64_t bytes_;
  void* memory_;
};

void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from) {
  std::memcpy(to.data(), from.data(), std::min(to.size(), from.size()));
}

/// A worker's role: copies into its own block, and out of a server's.
class Copier {
 public:
  Copier(const RawShape& shape, const Common& common, std::uint32_t rank)
      : shape_(shape),
        common_(common),
        rank_(rank),
        source_(memory(shape)),
        target_(memory(shape)) {}

  void exchange(std::uint64_t parts) {
    const std::uint64_t endpoints = std::uint64_t{shape_.servers} * shape_.shards;
    for (std::uint64_t i = 0; i < parts; ++i) {
      if (offset_ + shape_.counted_bytes > source_.size()) offset_ = 0;
      copy_bytes(common_.block(rank_, i), std::span(source_).subspan(offset_, shape_.out_bytes));
      const std::uint64_t server = shape_.workers + i % endpoints;
      copy_bytes(std::span(target_).subspan(offset_, shape_.back_bytes),
                 common_.block(server, i / endpoints));
      offset_ += shape_.counted_bytes;
    }
  }

 private:
  static std::vector<std::byte> memory(const RawShape& shape) {
    return std::vector<std::byte>(std::max(shape.memory_bytes, shape.counted_bytes), std::byte{1});
  }

  const RawShape& shape_;
  const Common& common_;
  std::uint32_t rank_;
  std::vector<std::byte> source_;
  std::vector<std::byte> target_;
  std::uint64_t offset_ = 0;
};

// An endpoint's role: copies the first contribution and adds the others.
void serve(const RawShape& shape, const Common& common, std::uint64_t endpoint,
           std::uint64_t parts) {
  for (std::uint64_t i = 0; i < parts && shape.out_bytes > 0; ++i) {
    const std::span<std::byte> sum = common.block(shape.workers + endpoint, i);
    copy_bytes(sum, common.block(0, i));
    for (std::uint32_t rank = 1; rank < shape.workers; ++rank) {
      ops::sum_into(Dtype::kF32, sum, common.block(rank, i));
    }
  }
}

// Both roles: warm up, agree on the amount, wait for all, exchange, report.
template <typename Exchange>
int take_part(const RawShape& shape, const Common& common, std::uint32_t process,
              int report_descriptor, Exchange exchange) {
  const Time began = now();
  exchange(kWarmUpParts);
  common.meet();
  const double each = seconds(now() - began) / kWarmUpParts;
  if (process == 0) common.parts() = 1 + static_cast<std::uint64_t>(shape.seconds / each);
  common.meet();
  const double before = cpu_seconds();
  const Time start = now();
  exchange(common.parts());
  const Report report{.rank = process,
                      .seconds = seconds(now() - start),
                      .gigabytes = static_cast<double>(common.parts()) *
                                   static_cast<double>(shape.counted_bytes) / 1e9,
                      .cpu_s = cpu_seconds() - before};
  return write_report(report_descriptor, report).ok() ? 0 : 1;
}

int play(const RawShape& shape, const Common& common, std::uint32_t process,
         int report_descriptor) {
  if (process < shape.workers) {
    Copier worker(shape, common, process);
    return take_part(shape, common, process, report_descriptor,
                     [&](std::uint64_t parts) { worker.exchange(parts); });
  }
  const std::uint64_t endpoints = std::uint64_t{shape.servers} * shape.shards;
  const std::uint64_t endpoint = process - shape.workers;
  return take_part(shape, common, process, report_descriptor, [&](std::uint64_t parts) {
    serve(shape, common, endpoint, (parts + endpoints - 1 - endpoint) / endpoints);
  });
}

Rates rates_of_all(const RawShape& shape, std::span<const Report> reports) {
  Rates rates;
  double longest = 0;
  double gigabytes = 0;
  for (const Report& report : reports) {
    longest = std::max(longest, report.seconds);
    gigabytes = report.gigabytes;  // The same for all.
    double& cpu =
        report.rank < shape.workers ? rates.worker_cpu_s_per_gb : rates.server_cpu_s_per_gb;
    cpu += report.cpu_s;
  }
  rates.gb_per_s = gigabytes / longest;
  rates.worker_cpu_s_per_gb /= gigabytes * shape.workers;
  rates.server_cpu_s_per_gb /= gigabytes * shape.workers;
  return rates;
}

}  // namespace

Result<Rates> measure_copies(const RawShape& shape) {
  const Common common(shape);
  if (!common.is_there()) return Status(Code::kResource, "no shared memory for the limit");
  Result<ReportPipe> results = ReportPipe::open();
  if (!results.ok()) return results.status();
  Children children;
  const std::uint32_t processes = shape.workers + shape.servers * shape.shards;
  for (std::uint32_t process = 0; process < processes; ++process) {
    Status status =
        children.start([&] { return play(shape, common, process, results->write_end()); });
    if (!status.ok()) return status;
  }
  const Status status = results->await(processes, children.all(),
                                       now() + kCopiesTake + duration_of(4 * shape.seconds));
  children.kill();
  if (!status.ok()) return Status(status).with_operation("limit of copies");
  return rates_of_all(shape, results->reports());
}

}  // namespace stretto::bench
