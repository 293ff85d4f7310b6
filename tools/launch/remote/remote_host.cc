// SPDX-License-Identifier: Apache-2.0
// Turns orders into frames, frames into events, and failures of the link into errors.
#include "tools/launch/remote/remote_host.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "common/build_version.h"
#include "common/check.h"

namespace stretto::launch {
namespace {

using Kind = AgentFrame::Kind;

constexpr auto kInvalid = static_cast<std::int64_t>(Code::kInvalidArgument);

}  // namespace

RemoteHost::RemoteHost(Poller& poller, RemoteHostEvents& events, const Clock& clock,
                       std::string name, std::string directory)
    : events_(events),
      clock_(clock),
      name_(std::move(name)),
      directory_(std::move(directory)),
      connection_(poller, clock, name_,
                  {.on_frame = [this](const AgentFrame& frame) { take(frame); },
                   .on_line = [this](std::string_view line) { events_.on_note(*this, line); },
                   .on_gone = [this](Status why) { give_up(std::move(why)); }}) {}

Status RemoteHost::open(const Command& carrier, const SignalState& signals) {
  return connection_.open(carrier, signals);
}

void RemoteHost::adopt(std::unique_ptr<AgentLink> link, const AgentHello& hello) {
  connection_.adopt(std::move(link));
  take(frame_of(hello));
}

void RemoteHost::take(const AgentFrame& frame) {
  heartbeats_.hear(clock_.now());
  if (state_ == State::kSilent) {
    state_ = State::kHere;
    heartbeats_.begin(clock_.now());
    const std::vector<std::size_t> kept = events_.on_awake(*this);
    std::erase_if(running_, [&](std::size_t member) {
      if (std::ranges::find(kept, member) != kept.end()) return false;
      signal({member, SIGKILL, SignalOrder::Scope::kGroup});
      return true;
    });
  }
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
    case Kind::kReached:
      events_.on_answer(*this, frame);
      return;
    case Kind::kFinished:
      if (state_ != State::kFinishing) {
        connection_.refuse({Code::kMalformed, "an agent said its last before it was asked to end"});
        return;
      }
      left_ = static_cast<std::size_t>(std::max<std::int64_t>(frame.number, 0));
      state_ = State::kFinished;
      connection_.finish();
      return;
    case Kind::kStart:  // Sent only by a launcher.
    case Kind::kSignal:
    case Kind::kCredit:
    case Kind::kFinish:
    case Kind::kLook:
    case Kind::kTell:
    case Kind::kReach:
    case Kind::kNonce:  // Valid only before the hello.
    case Kind::kProof:
      connection_.refuse({Code::kMalformed, "an agent sent what only a launcher sends"});
      return;
  }
}

// A faulty agent may report nonsense. Ignores reports about other hosts' members, repeated ends of
// members, and exit statuses that no process has.
void RemoteHost::take_of_member(const AgentFrame& frame) {
  const std::string text = frame.texts.empty() ? std::string() : frame.texts[0];
  switch (frame.kind) {
    case Kind::kRefused:
      if (running_.erase(frame.member) == 0) return;
      events_.on_refused(frame.member,
                         Status(frame.number == kInvalid ? Code::kInvalidArgument : Code::kResource,
                                fmt::format("{}: {}", name_, text)));
      return;
    case Kind::kReady:
      if (!has_scheduler_) return;
      events_.on_ready(text);
      return;
    case Kind::kEnded: {
      const bool signal = frame.detail != kEndedByItself;
      const bool possible = frame.number >= (signal ? 1 : 0) && frame.number <= (signal ? 64 : 255);
      if (!possible || running_.erase(frame.member) == 0) return;
      events_.on_ended(frame.member,
                       {signal, static_cast<int>(frame.number), frame.detail == kEndedForMemory});
      return;
    }
    default:  // Output.
      if (frame.detail > 1 || !started_.contains(frame.member)) return;
      credit_.take(text.size());
      events_.on_output(frame.member, frame.detail, text);
      give_credit();
      return;
  }
}

void RemoteHost::take_hello(const AgentFrame& frame) {
  if (state_ != State::kComing) return;
  Result<AgentHello> hello = hello_of(frame);
  if (!hello.ok()) return connection_.refuse(hello.status());
  connection_.greet();
  hello_ = *hello;
  if (const std::string ours = build_version(); !is_same_build(hello_.version, ours)) {
    give_up({Code::kMismatch,
             fmt::format("{} has stretto-launch {}, and this one is {}; install the same build "
                         "on every host",
                         name_, hello_.version, ours)});
    return;
  }
  state_ = State::kHere;
  heartbeats_.begin(clock_.now());
  events_.on_here(*this);
}

void RemoteHost::give_up(Status why) {
  lose(std::move(why), connection_.closed_at().value_or(clock_.now()));
}

void RemoteHost::lose(Status why, Time since, bool is_silent) {
  if (state_ == State::kLost || state_ == State::kFinished) return;
  const bool known = state_ == State::kSilent;
  state_ = is_silent ? State::kSilent : State::kLost;
  orphans_ = 0;
  if (!is_silent) connection_.close();
  if (known || events_.on_lost(*this, std::move(why), since) || !is_silent) return;
  state_ = State::kLost;
  connection_.close();
}

void RemoteHost::start(std::size_t member, const Command& command, bool tells_ready) {
  STRETTO_CHECK(state_ != State::kComing && !running_.contains(member));
  started_.insert(member);
  running_.insert(member);
  if (tells_ready) has_scheduler_ = true;
  AgentFrame frame{Kind::kStart,
                   tells_ready ? std::uint8_t{1} : std::uint8_t{0},
                   static_cast<std::uint32_t>(member),
                   static_cast<std::int64_t>(command.arguments.size()),
                   {directory_, command.path}};
  frame.texts.insert(frame.texts.end(), command.arguments.begin(), command.arguments.end());
  for (const auto& [name, value] : command.environment) {
    frame.texts.push_back(fmt::format("{}={}", name, value));
  }
  connection_.send(frame);
}

void RemoteHost::signal(const SignalOrder& order) {
  connection_.send({Kind::kSignal,
                    static_cast<std::uint8_t>(order.scope),
                    static_cast<std::uint32_t>(order.member),
                    order.signal,
                    {}});
}

void RemoteHost::tell(std::string_view line) {
  if (has_scheduler_) connection_.send({Kind::kTell, 0, 0, 0, {std::string(line)}});
}

void RemoteHost::pause(std::size_t stream, bool paused) {
  credit_.pause(stream, paused);
  give_credit();
}

void RemoteHost::give_credit() {
  const std::int64_t credit = credit_.take_due();
  if (credit > 0) connection_.send({Kind::kCredit, 0, 0, credit, {}});
}

void RemoteHost::finish(Duration patience, bool failed) {
  if (state_ == State::kComing || state_ == State::kSilent) {
    state_ = State::kLost;
    connection_.close();
  }
  if (state_ != State::kHere) return;
  state_ = State::kFinishing;
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  connection_.send(
      {Kind::kFinish, failed ? std::uint8_t{1} : std::uint8_t{0}, 0, milliseconds, {}});
}

void RemoteHost::on_time(Time now, std::optional<Duration> silence) {
  connection_.on_time(now);
  if (!silence) return;
  const Duration silent = heartbeats_.look(now);
  const bool works = state_ == State::kHere && connection_.is_open();
  if (!works || silent < *silence) return;
  lose({Code::kTimeout, fmt::format("nothing heard of the agent on {} for {:.0f} s: it is frozen, "
                                    "or its host is gone",
                                    name_, seconds(silent))},
       heartbeats_.heard_at(), true);
}

std::optional<Time> RemoteHost::deadline(std::optional<Duration> silence) const {
  const std::optional<Time> due = connection_.deadline();
  const bool works = state_ == State::kHere && connection_.is_open();
  if (!silence || !works) return due;
  return std::min(heartbeats_.next_look(*silence), due.value_or(Time::max()));
}

bool RemoteHost::over() const {
  if (state_ == State::kLost) return true;
  return state_ == State::kFinished && !connection_.carrier_runs();
}

}  // namespace stretto::launch
