// SPDX-License-Identifier: Apache-2.0
// One iteration: deliver ready samples, start reads, wait for completions. The run that the
// consumer needs next always starts, whatever memory is used: full memory cannot block progress.
#include "input/reader/engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace stretto::input {
namespace {

constexpr std::uint64_t kSlotBytes = 1024;     // Approximate overhead of a sample.
constexpr std::size_t kMostOpenFiles = 256;    // Below the default limit of a process.
constexpr std::uint64_t kMostPlanned = 65536;  // Samples, at once.

/// State that a lease keeps alive.
struct SampleLease {
  Buffer buffer;
  std::shared_ptr<const std::string> path;
};

Rules rules_of(const Options& options) {
  return {.format = options.format,
          .record_bytes = options.record_bytes,
          .max_bytes = options.max_sample_bytes,
          .check_crc = options.check_crc};
}

}  // namespace

Engine::Engine(const EngineDependencies& around, bool direct, const Cursor& from)
    : around_(around),
      rules_(rules_of(around.options)),
      memory_(std::make_shared<MemoryPool>(around.options.memory_bytes)),
      files_(kMostOpenFiles, direct),
      requests_(around.backend, around.clock, around.meter, around.options.retries, direct),
      walk_(around.order, around.options.epochs),
      epoch_(from.epoch),
      passed_(from.passed) {
  walk_.seek(from.epoch, from.passed);
  around_.outlet.on_room([this] { wake(); });
  if (around.options.decode) {
    decoders_ = std::make_unique<DecodePool>(around.options.decode, around.pool_tuning.threads(),
                                             around.clock, [this] { wake(); });
  }
  thread_ = std::jthread([this] { run(); });
}

Engine::~Engine() {
  around_.controls.stop.store(true);
  wake();
  thread_.join();
  decoders_.reset();
  // Memory and files must exist until the kernel has finished.
  std::vector<Fetched> fetched;
  while (requests_.in_flight() > 0) requests_.wait(Time::max(), fetched);
  around_.controls.stop.store(false);
}

void Engine::run() {
  std::vector<Fetched> fetched;
  around_.tuning.begin(around_.clock.now());
  around_.pool_tuning.begin(around_.clock.now());
  while (!around_.controls.stop.load()) {
    take_decoded();
    collect();
    around_.tuning.obey(around_.clock.now());
    const std::uint32_t depth = around_.controls.in_force().depth;
    while (requests_.in_flight() < depth && (requests_.any_waiting() || start_run())) {
      requests_.submit(depth);
    }
    requests_.flush();  // Keeps the device busy before waking the consumer.
    collect();          // Ends of epochs, and samples without bytes.
    around_.outlet.put(items_);
    ends_collected_ = 0;
    if (walk_.over() && slots_.empty()) {
      items_.emplace_back();
      around_.outlet.put(items_);
      return;
    }
    requests_.wait(std::min(around_.tuning.due(), around_.pool_tuning.due()), fetched);
    tune();
    for (Fetched& range : fetched) land(range);
    fetched.clear();
  }
}

// Enough contiguous samples for several reads of the configured size.
std::uint64_t Engine::wanted_samples() const {
  const std::uint64_t mean = std::max<std::uint64_t>(
      around_.index.bytes() / std::max<std::uint64_t>(around_.index.samples(), 1), 1);
  const std::uint64_t ahead =
      std::min(bytes_in_flight(around_.controls.in_force()), around_.options.memory_bytes / 2);
  return std::clamp<std::uint64_t>(ahead / mean, 1, kMostPlanned);
}

// False if all is planned, or planning is far ahead.
bool Engine::plan() {
  std::vector<std::uint64_t> samples;
  std::uint64_t epoch = 0;
  while (samples.empty()) {
    if (walk_.over() || around_.outlet.far_ahead(ends_planned_ + ends_collected_)) return false;
    epoch = walk_.epoch();
    samples = walk_.next(wanted_samples());
    if (!samples.empty()) break;
    slots_.push_back({.state = Slot::State::kEpochEnd, .place = {}, .item = {}});
    ++ends_planned_;
  }
  const std::uint64_t first = first_tag_ + slots_.size();
  std::vector<Place> places;
  places.reserve(samples.size());
  for (const std::uint64_t number : samples) {
    Slot slot{.state = Slot::State::kWaiting, .place = around_.index.place(number), .item = {}};
    slot.item.sample.number = number;
    slot.item.sample.epoch = epoch;
    slot.item.sample.offset = slot.place.extent.offset;
    places.push_back(slot.place);
    slots_.push_back(std::move(slot));
  }
  std::vector<ReadRun> runs = plan_runs(places, first, around_.controls.in_force().read_bytes);
  std::ranges::move(runs, std::back_inserter(planned_));
  return true;
}

bool Engine::needed(const ReadRun& run) const {
  return std::ranges::find(run.wanted, first_tag_) != run.wanted.end();
}

// False if no run can start.
bool Engine::start_run() {
  if (planned_.empty() && !plan()) return false;
  if (requests_.in_flight() == 0 && !needed(planned_.front())) {
    // Otherwise no memory would ever become free.
    const auto next =
        std::ranges::find_if(planned_, [this](const ReadRun& run) { return needed(run); });
    if (next != planned_.end()) std::iter_swap(next, planned_.begin());
  }
  ReadRun& run = planned_.front();
  const std::size_t bytes = requests_.bytes_for(run.extent);
  const std::uint64_t cost = MemoryPool::rounded(bytes) + kSlotBytes * run.wanted.size();
  if (!around_.outlet.room_for(cost) && !needed(run)) return false;
  Buffer buffer = memory_->lease(bytes);
  ReadRun begun = std::move(run);
  planned_.pop_front();
  if (buffer.data() == nullptr) {
    for (const std::uint64_t tag : begun.wanted) {
      fail(tag, {Code::kResource,
                 fmt::format("no memory for {} bytes of '{}' at offset {}", bytes,
                             *around_.index.files()[begun.file].path, begun.extent.offset)});
    }
    return true;
  }
  begin_flight(std::move(begun), std::move(buffer), cost);
  return true;
}

void Engine::begin_flight(ReadRun run, Buffer buffer, std::uint64_t cost) {
  around_.outlet.use(static_cast<std::int64_t>(cost));
  const std::uint64_t tag = next_flight_++;
  const Extent extent = run.extent;
  const std::uint32_t file = run.file;
  flights_.emplace(tag, Flight{std::move(run), cost});
  if (extent.bytes == 0) {  // An empty file.
    Fetched nothing{.tag = tag, .buffer = std::move(buffer), .start = extent.offset, .status = {}};
    return land(nothing);
  }
  requests_.want(tag, files_.get(file, *around_.index.files()[file].path), extent,
                 std::move(buffer), around_.controls.in_force().read_bytes);
}

void Engine::land(Fetched& fetched) {
  const auto found = flights_.find(fetched.tag);
  const Flight flight = std::move(found->second);
  flights_.erase(found);
  const ReadRun& run = flight.run;
  if (!fetched.status.ok()) {
    files_.forget(run.file);  // Its name may refer to another file now.
    around_.outlet.use(-static_cast<std::int64_t>(flight.cost));
    if (run.wanted.size() > 1) return split(run);
    return fail(run.wanted.front(), std::move(fetched.status));
  }
  const std::shared_ptr<const void> lease = std::make_shared<const SampleLease>(
      SampleLease{fetched.buffer, around_.index.files()[run.file].path});
  const std::uint64_t each = flight.cost / run.wanted.size();
  for (const std::uint64_t tag : run.wanted) slot(tag).item.cost = each;
  slot(run.wanted.front()).item.cost += flight.cost - each * run.wanted.size();
  for (const std::uint64_t tag : run.wanted) check_slot(tag, fetched, lease);
}

// Reads a failed run sample by sample, so that a fault costs only one sample.
void Engine::split(const ReadRun& run) {
  for (auto tag = run.wanted.rbegin(); tag != run.wanted.rend(); ++tag) {
    planned_.push_front({.file = run.file, .extent = slot(*tag).place.extent, .wanted = {*tag}});
  }
}

void Engine::check_slot(std::uint64_t tag, const Fetched& fetched,
                        std::shared_ptr<const void> lease) {
  Slot& here = slot(tag);
  const Extent extent = here.place.extent;
  Sample& sample = here.item.sample;
  sample.lease = std::move(lease);
  sample.path = *around_.index.files()[here.place.file].path;
  const auto bytes = fetched.buffer.bytes().subspan(extent.offset - fetched.start, extent.bytes);
  const Status status = check(rules_, bytes, sample);
  if (!status.ok()) {
    fail(tag, {status.code(),
               fmt::format("'{}' at offset {}: {}", sample.path, extent.offset, status.cause())});
  } else if (decoders_) {
    submit(tag, std::move(sample));
  } else {
    here.state = Slot::State::kReady;
  }
}

void Engine::fail(std::uint64_t tag, Status status) {
  Slot& here = slot(tag);
  here.state = Slot::State::kFailed;
  here.item.sample = {};
  here.item.status = std::move(status);
}

void Engine::submit(std::uint64_t tag, Sample sample) {
  if (decoding_++ == 0) around_.pool_tuning.busy(around_.clock.now(), true);
  decoders_->submit(tag, std::move(sample));
}

void Engine::take_decoded() {
  if (!decoders_) return;
  std::vector<DecodePool::Ended> all = decoders_->take();
  decoding_ -= all.size();
  if (decoding_ == 0 && !all.empty()) around_.pool_tuning.busy(around_.clock.now(), false);
  for (DecodePool::Ended& ended : all) {
    around_.pool_tuning.decoded(ended.took);
    Slot& here = slot(ended.tag);
    here.item.sample = std::move(ended.sample);
    if (ended.status.ok()) {
      here.state = Slot::State::kReady;
    } else {
      fail(ended.tag,
           {ended.status.code(),
            fmt::format("'{}' at offset {}: {}", *around_.index.files()[here.place.file].path,
                        here.place.extent.offset, ended.status.cause())});
    }
  }
}

// Each of the two tuners uses the time in which the consumer waited for its stage.
void Engine::tune() {
  const Time now = around_.clock.now();
  if (now >= around_.tuning.due()) {
    around_.tuning.step(now, decoders_ ? around_.pool_tuning.take_stall(now) : Duration{});
  }
  if (!decoders_) return;
  around_.pool_tuning.step(now);
  decoders_->set_threads(around_.pool_tuning.threads());
}

// Collects all ready samples at the front of the order for delivery.
void Engine::collect() {
  while (!slots_.empty() && slots_.front().state != Slot::State::kWaiting) {
    Slot& front = slots_.front();
    Item& item = front.item;
    if (front.state == Slot::State::kEpochEnd) {
      item.kind = Item::Kind::kEpochEnd;
      --ends_planned_;
      ++ends_collected_;
      ++epoch_;
      passed_ = 0;
    } else {
      item.kind = front.state == Slot::State::kReady ? Item::Kind::kSample : Item::Kind::kError;
      ++passed_;
    }
    item.epoch = epoch_;
    item.passed = passed_;
    items_.push_back(std::move(item));
    slots_.pop_front();
    ++first_tag_;
  }
}

}  // namespace stretto::input
