// SPDX-License-Identifier: Apache-2.0
// Reader: connects the components, and implements the consumer's side.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/input_account.h"
#include "input/reader/engine.h"
#include "input/reader/open_reader.h"
#include "input/reader/settings.h"
#include "stretto/input.h"

namespace stretto::input {
namespace {

// Without an account the counts stay private.
std::shared_ptr<InputFeed> feed_of(const Options& options, Time now) {
  return options.account == nullptr ? std::make_shared<InputFeed>() : options.account->open(now);
}

}  // namespace

namespace detail {

/// Thread: user, as Reader says.
class ReaderState {
 public:
  ReaderState(Options options, Index index, std::unique_ptr<Backend> backend,
              std::vector<Status> problems)
      : options_(std::move(options)),
        index_(std::move(index)),
        order_(index_, options_),
        backend_(std::move(backend)),
        meter_(clock_.now(), feed_of(options_, clock_.now())),
        tuning_(limits_for(options_, index_), controls_, meter_),
        pool_tuning_(options_, meter_),
        direct_(wants_direct(options_.direct, index_.bytes(), memory_of_machine())),
        problems_(std::move(problems)),
        problem_count_(problems_.size()) {
    cursor_.fingerprint = order_.fingerprint();
    problems_.resize(std::min(problems_.size(), kMostProblems));
    controls_.turn(bounded_knobs({options_.depth, options_.read_bytes}));
    controls_.tuned.store(options_.tune);
  }

  static Reader reader(std::unique_ptr<ReaderState> state) { return Reader(std::move(state)); }

  Result<std::optional<Sample>> next() {
    start();
    while (!over_) {
      std::optional<Item> taken = outlet_->take();
      if (!taken) return Status(Code::kCancelled, "the wait for a sample was interrupted");
      Item& item = *taken;
      if (item.kind == Item::Kind::kOver) {
        over_ = true;
        break;
      }
      cursor_.epoch = item.epoch;
      cursor_.passed = item.passed;
      if (item.kind == Item::Kind::kEpochEnd) return std::optional<Sample>();
      if (item.kind == Item::Kind::kSample) return std::optional(std::move(item.sample));
      if (options_.on_error == OnError::kFail) return std::move(item.status);
      if (problems_.size() < kMostProblems) problems_.push_back(std::move(item.status));
      ++problem_count_;
    }
    return std::optional<Sample>();
  }

  Status seek(const Cursor& cursor) {
    if (cursor.fingerprint != order_.fingerprint()) {
      return {Code::kMismatch,
              "the cursor is of another data set or order: names and sizes of files, their "
              "records, format, "
              "all that shuffling depends on, even, rank and world must be those it was made with"};
    }
    engine_.reset();
    outlet_.reset();
    over_ = false;
    cursor_ = cursor;
    return {};
  }

  void set_knobs(const Knobs& knobs) {
    controls_.turn(bounded_knobs(knobs));
    backend_->wake();
  }
  Knobs knobs() const { return controls_.in_force(); }
  Window take_window() { return meter_.take(Meter::kUser, clock_.now()); }
  std::string tuning_log() {
    return tuning_.log() + (options_.decode ? pool_tuning_.log() : std::string());
  }
  void set_decode_threads(std::uint32_t threads) {
    pool_tuning_.set_threads(threads);
    backend_->wake();
  }
  std::uint32_t decode_threads() const { return pool_tuning_.threads(); }

  const Index& index() const { return index_; }
  const Order& order() const { return order_; }
  const Cursor& cursor() const { return cursor_; }
  std::string_view method() const { return backend_->name(); }
  std::uint64_t problem_count() const { return problem_count_; }
  const std::vector<Status>& problems() const { return problems_; }

 private:
  static constexpr std::size_t kMostProblems = 100;

  void start() {
    if (engine_) return;
    outlet_ = std::make_unique<SampleQueue>(options_.memory_bytes, clock_, meter_);
    engine_ = std::make_unique<Engine>(
        EngineDependencies{options_, index_, order_, *backend_, clock_, controls_, meter_, tuning_,
                           pool_tuning_, *outlet_},
        direct_, cursor_);
  }

  SteadyClock clock_;
  Options options_;
  const Index index_;
  const Order order_;
  std::unique_ptr<Backend> backend_;
  Meter meter_;
  Controls controls_;
  ReaderTuning tuning_;
  PoolTuning pool_tuning_;
  const bool direct_;
  Cursor cursor_;
  bool over_ = false;
  std::vector<Status> problems_;
  std::uint64_t problem_count_;
  std::unique_ptr<SampleQueue> outlet_;
  std::unique_ptr<Engine> engine_;  // Last: it uses all members above.
};

}  // namespace detail

Result<Reader> Reader::open(Options options) {
  Result<std::unique_ptr<Backend>> backend = open_backend(options.method);
  if (!backend.ok()) return backend.status();
  return open_reader(std::move(options), *std::move(backend));
}

Result<Reader> open_reader(Options options, std::unique_ptr<Backend> backend) {
  const Status status = validate(options);
  if (!status.ok()) return status;
  std::vector<Status> problems;
  Result<Index> index = Index::build(options, problems);
  if (!index.ok()) return index.status();
  if (options.even && index->samples() > 0 && index->samples() < options.world) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{} samples for {} workers that take equally many each: none would "
                              "have any; wanted more samples or fewer workers",
                              index->samples(), options.world));
  }
  return detail::ReaderState::reader(std::make_unique<detail::ReaderState>(
      std::move(options), *std::move(index), std::move(backend), std::move(problems)));
}

Reader::Reader(std::unique_ptr<detail::ReaderState> state) : state_(std::move(state)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Result<std::optional<Sample>> Reader::next() { return state_->next(); }
Cursor Reader::cursor() const { return state_->cursor(); }
Status Reader::seek(const Cursor& cursor) { return state_->seek(cursor); }
std::uint64_t Reader::samples() const { return state_->index().samples(); }
std::uint64_t Reader::bytes() const { return state_->index().bytes(); }
std::uint64_t Reader::epoch_samples() const { return state_->order().samples(); }
std::uint64_t Reader::fingerprint() const { return state_->index().fingerprint(); }
std::string_view Reader::method() const { return state_->method(); }
std::uint64_t Reader::problem_count() const { return state_->problem_count(); }
std::vector<Status> Reader::problems() const { return state_->problems(); }
void Reader::set_knobs(const Knobs& knobs) { state_->set_knobs(knobs); }
Knobs Reader::knobs() const { return state_->knobs(); }
Window Reader::take_window() { return state_->take_window(); }
std::string Reader::tuning_log() const { return state_->tuning_log(); }
void Reader::set_decode_threads(std::uint32_t threads) { state_->set_decode_threads(threads); }
std::uint32_t Reader::decode_threads() const { return state_->decode_threads(); }

}  // namespace stretto::input
