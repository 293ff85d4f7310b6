// SPDX-License-Identifier: Apache-2.0
// A small simulation that records each event as a loop would.
#include "tests/observe/trace/made_trace.h"

#include <algorithm>

namespace stretto::trace::made {
namespace {

constexpr std::int64_t kStart = 1'000'000'000;
constexpr std::int64_t kSumNs = 20'000;
constexpr std::int64_t kLongSumNs = 9'000'000;
constexpr std::uint32_t kFirstNode = 2;
constexpr std::uint32_t kBytes = 65'536;

class Maker {
 public:
  explicit Maker(const Plan& plan) : plan_(plan), random_(plan.seed) {
    for (std::uint32_t i = 0; i < plan.servers + plan.workers; ++i) {
      const bool server = i < plan.servers;
      trace_.nodes.push_back({.node = kFirstNode + i,
                              .role = server ? Role::kServer : Role::kWorker,
                              .rank = server ? i : i - plan.servers,
                              .shard = 0,
                              .job = 0,
                              .dropped = 0,
                              .records = {}});
    }
    for (std::uint32_t t = 1; t <= plan.tensors; ++t) {
      trace_.tensors[t] = "layer" + std::to_string(t);
    }
    free_.assign(plan.workers, kStart);
    summing_until_.assign(plan.servers, kStart);
  }

  Trace run() {
    for (std::uint64_t round = 1; round <= plan_.iterations; ++round) iterate(round);
    return std::move(trace_);
  }

 private:
  Node& server(std::uint32_t tensor) { return trace_.nodes[tensor % plan_.servers]; }
  Node& worker(std::uint32_t w) { return trace_.nodes[plan_.servers + w]; }
  std::int64_t jitter(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random_);
  }
  bool is_slow(const Node& shard, Where where) const {
    return plan_.where == where && &shard == &trace_.nodes[plan_.who];
  }
  std::int64_t link(std::uint32_t w, const Node& shard) {
    const bool own = w == plan_.who;
    const bool slow = (plan_.where == Where::kLink && own) || is_slow(shard, Where::kServerLink) ||
                      (plan_.where == Where::kOneLink && own && &shard == &trace_.nodes[0]);
    return plan_.link_ns + jitter(plan_.link_ns) + (slow ? plan_.lost_ns : 0);
  }
  static void note(Node& node, TraceKind kind, std::int64_t begin, std::int64_t end,
                   const TraceRecord& like) {
    TraceRecord record = like;
    record.kind = kind;
    record.begin_ns = begin;
    record.end_ns = end;
    node.records.push_back(record);
  }

  // The node does not run from `from` on; returns for how long.
  std::int64_t stop(Node& node, std::int64_t from) {
    note(node, TraceKind::kStall, from, from + plan_.lost_ns, {});
    return plan_.lost_ns;
  }
  // When a contribution that arrives at `there` is taken, and when it has been added.
  std::pair<std::int64_t, std::int64_t> sum(Node& shard, std::int64_t sent, std::int64_t there) {
    if (is_slow(shard, Where::kStopped)) there += stop(shard, sent);
    if (!is_slow(shard, Where::kBusy)) {
      return {there, there + kSumNs + (is_slow(shard, Where::kServer) ? plan_.lost_ns : 0)};
    }
    std::int64_t& until = summing_until_[plan_.who];
    const std::int64_t taken = std::max(there, until);
    until = taken + kLongSumNs;
    return {taken, until};
  }
  // How long a codec takes from `from` on, while its caller waits; 0 if there is none.
  std::int64_t encode(std::uint32_t w, std::uint64_t round, std::uint32_t tensor,
                      std::int64_t from) {
    if (plan_.where != Where::kCodec) return 0;
    const std::int64_t time = 300'000 + (w == plan_.who ? plan_.lost_ns : 0);
    TraceRecord record;
    record.frame = kPushFrame;
    record.round = round;
    record.tensor = tensor;
    note(worker(w), TraceKind::kCodec, from, from + time, record);
    return time;
  }

  // A worker reads its input, if the plan has any, and then computes.
  std::int64_t compute(std::uint32_t w) {
    std::int64_t at = free_[w];
    TraceRecord none;
    if (plan_.where == Where::kInput) {
      const std::int64_t reading = 1'000'000 + (w == plan_.who ? plan_.lost_ns : 0);
      note(worker(w), TraceKind::kInput, at, at + reading, none);
      at += reading;
    }
    const bool slow = plan_.where == Where::kCompute && w == plan_.who;
    return at + plan_.compute_ns + jitter(plan_.compute_ns / 10) + (slow ? plan_.lost_ns : 0);
  }

  void iterate(std::uint64_t round) {
    std::vector<std::int64_t> ready(plan_.workers);
    std::vector<std::int64_t> done(plan_.workers);
    for (std::uint32_t w = 0; w < plan_.workers; ++w) ready[w] = compute(w);
    for (std::uint32_t tensor = 1; tensor <= plan_.tensors; ++tensor) {
      exchange(round, tensor, ready, done);
    }
    for (std::uint32_t w = 0; w < plan_.workers; ++w) {
      TraceRecord wait;
      wait.tensor = 1;
      note(worker(w), TraceKind::kPullWait, ready[w], done[w], wait);
      free_[w] = done[w];
    }
  }

  void exchange(std::uint64_t round, std::uint32_t tensor, const std::vector<std::int64_t>& ready,
                std::vector<std::int64_t>& done) {
    TraceRecord record;
    record.round = round;
    record.tensor = tensor;
    record.bytes = kBytes;
    Node& shard = server(tensor);
    std::int64_t complete = 0;
    for (std::uint32_t w = 0; w < plan_.workers; ++w) {
      const std::int64_t queued = ready[w] + tensor * 1000 + encode(w, round, tensor, ready[w]);
      const std::int64_t sent = queued + 500;
      const auto [came, summed] = sum(shard, sent, sent + link(w, shard));
      record.frame = kPushFrame;
      record.peer = shard.node;
      note(worker(w), TraceKind::kQueueWait, queued, sent, record);
      note(worker(w), TraceKind::kSend, sent, sent + 100, record);
      record.peer = worker(w).node;
      note(shard, TraceKind::kReceive, came, came, record);
      note(shard, TraceKind::kSum, came, summed, record);
      complete = std::max(complete, summed);
    }
    record.frame = kValueFrame;
    for (std::uint32_t w = 0; w < plan_.workers; ++w) {
      const std::int64_t sent = complete + 1000;
      const bool stopped = plan_.where == Where::kWorkerStopped && w == plan_.who;
      const std::int64_t came = sent + link(w, shard) + (stopped ? stop(worker(w), sent) : 0);
      record.peer = worker(w).node;
      note(shard, TraceKind::kQueueWait, complete, sent, record);
      note(shard, TraceKind::kSend, sent, sent + 100, record);
      record.peer = shard.node;
      note(worker(w), TraceKind::kReceive, came, came, record);
      done[w] = std::max(done[w], came);
    }
  }

  const Plan plan_;
  std::mt19937_64 random_;
  Trace trace_;
  std::vector<std::int64_t> free_;           // By worker: when it becomes free.
  std::vector<std::int64_t> summing_until_;  // By server: when its long sum ends.
};

}  // namespace

Trace make(const Plan& plan) { return Maker(plan).run(); }

std::size_t place_of_worker(const Plan& plan, std::uint32_t worker) {
  return plan.servers + worker;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace stretto::trace::made
