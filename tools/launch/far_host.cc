// SPDX-License-Identifier: Apache-2.0
// Orders into frames, frames into events, and the words for what went wrong on the way.
#include "tools/launch/far_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/version.h"

namespace stretto::launch {
namespace {

using Kind = Frame::Kind;

constexpr Duration kLastWords = 3s;  // For a carrier to end, and so to say why.
// Between two looks, which are a second apart at most, where this process was awake.
constexpr Duration kAsleep = 3s;
constexpr int kNoConnection = 255;  // How ssh ends if the trouble is its own.
constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;
constexpr auto kInvalid = static_cast<std::int64_t>(Code::kInvalidArgument);

}  // namespace

FarHost::FarHost(Poller& poller, FarEvents& events, const Clock& clock, std::string name,
                 std::string directory)
    : poller_(poller),
      events_(events),
      clock_(clock),
      name_(std::move(name)),
      directory_(std::move(directory)) {}

Status FarHost::open(const Command& carrier, const SignalState& signals) {
  carrier_name_ = carrier.arguments.front();
  carrier_ = std::make_unique<Carrier>(
      poller_, [this](std::string_view line) { events_.on_note(*this, line); },
      [this] {
        if (state_ == State::kFinished || !link_->is_open()) return take_closed({});
        deadline_ = clock_.now() + kLastWords;  // What is on its way may say more.
      });
  if (Status status = carrier_->start(carrier, signals, true); !status.ok()) return status;
  link_ = std::make_unique<Link>(poller_, carrier_->take_output(), carrier_->take_input(), false);
  listen();
  return {};
}

void FarHost::adopt(std::unique_ptr<Link> link, const Hello& hello) {
  link_ = std::move(link);
  listen();
  take(frame_of(hello));
}

void FarHost::listen() {
  link_->start([this](const Frame& frame) { take(frame); },
               [this](const Status& why) { take_closed(why); });
}

void FarHost::take(const Frame& frame) {
  heard_ = clock_.now();
  switch (frame.kind) {
    case Kind::kHello:
      take_hello(frame);
      return;
    case Kind::kRefused:
    case Kind::kReady:
    case Kind::kOutput:
    case Kind::kEnded:
      take_of_member(frame);
      return;
    case Kind::kOrphans:
      orphans_ = static_cast<std::size_t>(std::max<std::int64_t>(frame.number, 0));
      return;
    case Kind::kSignalled:
      events_.on_signalled(*this, static_cast<int>(frame.number));
      return;
    case Kind::kAlive:
      return;
    case Kind::kFound:
      events_.on_found(*this, frame.texts);
      return;
    case Kind::kFinished:
      left_ = static_cast<std::size_t>(std::max<std::int64_t>(frame.number, 0));
      state_ = State::kFinished;
      deadline_ = clock_.now() + kLastWords;
      link_->close();
      return;
    case Kind::kStart:  // What only a launcher says.
    case Kind::kSignal:
    case Kind::kCredit:
    case Kind::kFinish:
    case Kind::kLook:
      link_->close();
      take_closed({Code::kMalformed, "an agent sent what only a launcher sends"});
      return;
  }
}

// An agent gone wrong may tell what cannot be; it is not believed about members that are not its
// own, about ends that were told before, or about statuses that no process has.
void FarHost::take_of_member(const Frame& frame) {
  const std::string text = frame.texts.empty() ? std::string() : frame.texts[0];
  switch (frame.kind) {
    case Kind::kRefused:
      if (running_.erase(frame.member) == 0) return;
      events_.on_refused(
          frame.member,
          Status(frame.number == kInvalid ? Code::kInvalidArgument : Code::kResource, text));
      return;
    case Kind::kReady:
      if (!has_scheduler_) return;
      events_.on_ready(text);
      return;
    case Kind::kEnded: {
      const bool signal = frame.detail != 0;
      const bool possible = frame.number >= (signal ? 1 : 0) && frame.number <= (signal ? 64 : 255);
      if (!possible || running_.erase(frame.member) == 0) return;
      events_.on_ended(frame.member, {signal, static_cast<int>(frame.number)});
      return;
    }
    default:  // Output.
      if (frame.detail > 1 || !started_.contains(frame.member)) return;
      owed_ += static_cast<std::int64_t>(text.size());
      events_.on_output(frame.member, frame.detail, text);
      give_credit();
      return;
  }
}

void FarHost::take_hello(const Frame& frame) {
  if (state_ != State::kComing) return;
  take_noise();
  Result<Hello> hello = hello_of(frame);
  if (!hello.ok()) return take_closed(hello.status());
  hello_ = *hello;
  if (hello_.version != kVersion) {
    lose({Code::kMismatch,
          fmt::format("{} has stretto-launch {}, and this one is {}; install the same release on "
                      "every host",
                      name_, hello_.version, kVersion)});
    return;
  }
  state_ = State::kHere;
  looked_ = heard_;
  events_.on_here(*this);
}

void FarHost::take_noise() {
  if (!link_) return;
  LineSplitter lines;
  const auto note = [this](std::string_view line) { events_.on_note(*this, line); };
  lines.feed(link_->take_noise(), note);
  lines.finish(note);
}

// The carrier's end says why, so it is waited for.
void FarHost::take_closed(const Status& why) {
  if (link_error_.ok()) link_error_ = why;
  if (!closed_at_) closed_at_ = clock_.now();
  if (state_ == State::kLost) return;
  if (state_ == State::kFinished) {
    if (carrier_ && !carrier_->running()) deadline_.reset();
    return;
  }
  take_noise();
  if (carrier_ && carrier_->running()) {
    deadline_ = clock_.now() + kLastWords;
    return;
  }
  lose(why_lost());
}

Status FarHost::why_lost() const {
  if (!link_error_.ok()) {
    return {link_error_.code(), fmt::format("{}: {}", name_, link_error_.cause())};
  }
  if (!carrier_ || !carrier_->exit()) {
    return {Code::kNetwork, fmt::format("the agent on {} ended, or the way to it", name_)};
  }
  const Exit& exit = *carrier_->exit();
  const std::string words =
      carrier_->last_words().empty() ? "" : fmt::format(": {}", carrier_->last_words());
  if (hello_.version.empty() && !exit.by_signal) {
    if (exit.number == kNoConnection) {
      return {Code::kNetwork,
              fmt::format("{} cannot be reached by {}{}; a command must run there without a "
                          "question being asked",
                          name_, carrier_name_, words)};
    }
    if (exit.number == kNotFound || exit.number == kNotExecutable) {
      return {Code::kInvalidArgument,
              fmt::format("{} cannot run stretto-launch{}; install it at the same place on every "
                          "host, or say with --bin-dir where it is there",
                          name_, words)};
    }
  }
  return {Code::kNetwork,
          fmt::format("{} is lost: {} {}{}", name_, carrier_name_, exit.text(), words)};
}

void FarHost::lose(Status why) {
  if (state_ == State::kLost || state_ == State::kFinished) return;
  state_ = State::kLost;
  deadline_.reset();
  orphans_ = 0;
  if (link_) link_->close();
  if (carrier_) carrier_->terminate();
  events_.on_lost(*this, std::move(why));
}

void FarHost::start(std::size_t member, const Command& command, bool tells_ready) {
  started_.insert(member);
  running_.insert(member);
  if (tells_ready) has_scheduler_ = true;
  Frame frame{Kind::kStart,
              tells_ready ? std::uint8_t{1} : std::uint8_t{0},
              static_cast<std::uint32_t>(member),
              static_cast<std::int64_t>(command.arguments.size()),
              {directory_, command.path}};
  frame.texts.insert(frame.texts.end(), command.arguments.begin(), command.arguments.end());
  for (const auto& [name, value] : command.environment) {
    frame.texts.push_back(fmt::format("{}={}", name, value));
  }
  link_->send(frame);
}

void FarHost::signal(const Order& order) {
  if (!link_) return;
  link_->send({Kind::kSignal,
               static_cast<std::uint8_t>(order.scope),
               static_cast<std::uint32_t>(order.member),
               order.signal,
               {}});
}

void FarHost::pause(std::size_t stream, bool paused) {
  if (paused_[stream] == paused) return;
  paused_[stream] = paused;
  give_credit();
}

// In large pieces: a frame for each line would be as many as the lines.
void FarHost::give_credit() {
  if (paused_[0] || paused_[1] || owed_ < kOutputWindow / 4 || !link_) return;
  link_->send({Kind::kCredit, 0, 0, std::exchange(owed_, 0), {}});
}

void FarHost::look(const std::string& search_path, const std::vector<std::string>& programs) {
  Frame frame{Kind::kLook, 0, 0, 0, {directory_, search_path}};
  frame.texts.insert(frame.texts.end(), programs.begin(), programs.end());
  link_->send(frame);
}

void FarHost::finish(Duration patience) {
  if (state_ == State::kComing) {
    state_ = State::kLost;
    if (link_) link_->close();
    if (carrier_) carrier_->terminate();
  }
  if (state_ != State::kHere) return;
  state_ = State::kFinishing;
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  link_->send({Kind::kFinish, 0, 0, milliseconds, {}});
}

void FarHost::on_time(Time now) {
  if (!deadline_ || now < *deadline_) return;
  deadline_.reset();
  if (state_ == State::kFinished) {
    carrier_.reset();
  } else {
    lose(why_lost());
  }
}

// What was sent while this process was stopped or its machine asleep is still to be read.
void FarHost::give_up_if_silent(Time now, Duration limit) {
  const Duration asleep = now - std::exchange(looked_, now);
  if (asleep > kAsleep) heard_ += asleep;
  if (state_ != State::kHere || !link_->is_open() || now < heard_ + limit) return;
  if (!closed_at_) closed_at_ = heard_;
  lose({Code::kTimeout, fmt::format("nothing heard of the agent on {} for {:.0f} s: it is frozen, "
                                    "or its host is gone",
                                    name_, seconds(now - heard_))});
}

std::optional<Time> FarHost::next_look(Duration limit) const {
  if (state_ != State::kHere || !link_->is_open()) return std::nullopt;
  return std::min(heard_ + limit, looked_ + kAliveEvery);
}

bool FarHost::over() const {
  if (state_ == State::kLost) return true;
  return state_ == State::kFinished && (!carrier_ || !carrier_->running());
}

}  // namespace stretto::launch
