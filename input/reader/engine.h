// SPDX-License-Identifier: Apache-2.0
// Engine: the thread that reads ahead. It plans reads in the order of samples, keeps as many in
// flight as the knobs allow, checks and decodes samples, and delivers them in order.
#pragma once

#include <deque>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "input/formats/index.h"
#include "input/formats/sample_check.h"
#include "input/io/backend.h"
#include "input/io/decode_pool.h"
#include "input/io/memory_pool.h"
#include "input/io/read_requests.h"
#include "input/order/read_plan.h"
#include "input/order/sample_order.h"
#include "input/reader/sample_queue.h"
#include "input/tuning/controls.h"
#include "input/tuning/pool_tuning.h"
#include "input/tuning/reader_tuning.h"

namespace stretto::input {

/// The engine's dependencies, which all outlive it.
struct EngineDependencies {
  const Options& options;
  const Index& index;
  const Order& order;
  Backend& backend;
  const Clock& clock;
  Controls& controls;
  Meter& meter;
  ReaderTuning& tuning;
  PoolTuning& pool_tuning;
  SampleQueue& outlet;
};

/// Thread: loop, its own. Made and destroyed by the user's thread.
class Engine {
 public:
  /// Begins after the cursor.
  Engine(const EngineDependencies& around, bool direct, const Cursor& from);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  /// Thread: any.
  void wake() { around_.backend.wake(); }

 private:
  /// A sample's place in the order, until it is delivered.
  struct Slot {
    enum class State : std::uint8_t { kWaiting, kReady, kFailed, kEpochEnd };
    State state = State::kWaiting;
    Place place;
    Item item;
  };
  struct Flight {
    ReadRun run;
    std::uint64_t cost = 0;
  };

  void run();
  bool plan();
  bool start_run();
  void begin_flight(ReadRun run, Buffer buffer, std::uint64_t cost);
  void land(Fetched& fetched);
  void split(const ReadRun& run);
  void check_slot(std::uint64_t tag, const Fetched& fetched, std::shared_ptr<const void> lease);
  void fail(std::uint64_t tag, Status status);
  void submit(std::uint64_t tag, Sample sample);
  void take_decoded();
  void tune();
  void collect();
  bool needed(const ReadRun& run) const;
  Slot& slot(std::uint64_t tag) { return slots_[tag - first_tag_]; }
  std::uint64_t wanted_samples() const;

  const EngineDependencies around_;
  const Rules rules_;
  std::shared_ptr<MemoryPool> memory_;
  OpenFiles files_;
  ReadRequests requests_;
  Walk walk_;
  std::uint64_t epoch_;   // Of the next delivered sample.
  std::uint64_t passed_;  // Samples delivered in that epoch.
  std::uint64_t first_tag_ = 0;
  int ends_planned_ = 0;    // Epoch ends among the slots,
  int ends_collected_ = 0;  // and among the items.
  std::deque<Slot> slots_;
  std::deque<ReadRun> planned_;
  std::unordered_map<std::uint64_t, Flight> flights_;
  std::uint64_t next_flight_ = 0;
  std::vector<Item> items_;
  std::unique_ptr<DecodePool> decoders_;  // Null without a decode function.
  std::uint64_t decoding_ = 0;            // Samples in the pool.
  std::jthread thread_;
};

}  // namespace stretto::input
