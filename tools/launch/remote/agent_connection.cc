// SPDX-License-Identifier: Apache-2.0
// A link and its remote shell, which end one after the other, and the text of their errors.
#include "tools/launch/remote/agent_connection.h"

#include <fmt/core.h>

#include <utility>

#include "common/check.h"

namespace stretto::launch {
namespace {

constexpr Duration kLastWords = 3s;  // For the remote shell to exit with its cause.
constexpr int kNoConnection = 255;   // The exit status of ssh for its own errors.
constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

}  // namespace

Status AgentConnection::open(const Command& carrier, const SignalState& signals) {
  STRETTO_CHECK(!link_ && !carrier_);
  carrier_name_ = carrier.arguments.front();
  carrier_ = std::make_unique<RemoteShell>(poller_, callbacks_.on_line, [this] {
    if (state_ == State::kFinished || !is_open()) return take_end({});
    deadline_ = clock_.now() + kLastWords;  // Frames in flight may tell more.
  });
  if (Status status = carrier_->start(carrier, signals, true); !status.ok()) return status;
  link_ =
      std::make_unique<AgentLink>(poller_, carrier_->take_output(), carrier_->take_input(), false);
  listen();
  return {};
}

void AgentConnection::adopt(std::unique_ptr<AgentLink> link) {
  STRETTO_CHECK(!link_ && !carrier_);
  link_ = std::move(link);
  listen();
}

void AgentConnection::listen() {
  link_->start(callbacks_.on_frame, [this](const Status& why) { take_end(why); });
}

void AgentConnection::send(const AgentFrame& frame) {
  if (link_) link_->send(frame);
}

void AgentConnection::greet() {
  greeted_ = true;
  take_noise();
}

void AgentConnection::take_noise() {
  if (!link_) return;
  LineSplitter lines;
  lines.feed(link_->take_noise(), callbacks_.on_line);
  lines.finish(callbacks_.on_line);
}

void AgentConnection::refuse(const Status& why) {
  link_->close();
  take_end(why);
}

void AgentConnection::finish() {
  STRETTO_CHECK(state_ == State::kOpen);
  state_ = State::kFinished;
  deadline_ = clock_.now() + kLastWords;
  link_->close();
}

void AgentConnection::close() {
  state_ = State::kGone;
  deadline_.reset();
  if (link_) link_->close();
  if (carrier_) carrier_->terminate();
}

// Waits for the exit of the remote shell, which tells the cause.
void AgentConnection::take_end(const Status& why) {
  if (link_error_.ok()) link_error_ = why;
  if (!closed_at_) closed_at_ = clock_.now();
  if (state_ == State::kGone) return;
  if (state_ == State::kFinished) {
    if (!carrier_runs()) deadline_.reset();
    return;
  }
  take_noise();
  if (carrier_runs()) {
    deadline_ = clock_.now() + kLastWords;
  } else {
    go();
  }
}

void AgentConnection::on_time(Time now) {
  if (!deadline_ || now < *deadline_) return;
  deadline_.reset();
  if (state_ == State::kFinished) {
    carrier_.reset();
  } else {
    go();
  }
}

void AgentConnection::go() {
  STRETTO_CHECK(state_ == State::kOpen);
  Status why = why_gone();
  close();
  callbacks_.on_gone(std::move(why));
}

Status AgentConnection::why_gone() const {
  if (!link_error_.ok()) {
    return {link_error_.code(), fmt::format("{}: {}", host_, link_error_.cause())};
  }
  if (!carrier_ || !carrier_->exit()) {
    return {Code::kNetwork, fmt::format("the agent on {} ended, or the way to it", host_)};
  }
  const Exit& exit = *carrier_->exit();
  const std::string words =
      carrier_->last_words().empty() ? "" : fmt::format(": {}", carrier_->last_words());
  if (!greeted_ && !exit.by_signal) {
    if (exit.number == kNoConnection) {
      return {Code::kNetwork,
              fmt::format("{} cannot be reached by {}{}; a command must run there without a "
                          "question being asked",
                          host_, carrier_name_, words)};
    }
    if (exit.number == kNotFound || exit.number == kNotExecutable) {
      return {Code::kInvalidArgument,
              fmt::format("{} cannot run stretto-launch{}; install it at the same place on every "
                          "host, or say with --bin-dir where it is there",
                          host_, words)};
    }
  }
  // A shell may keep SLURM_JOB_ID after its allocation has ended.
  const bool refused = !greeted_ && carrier_name_.ends_with("srun");
  return {Code::kNetwork,
          fmt::format("{} is lost: {} {}{}{}", host_, carrier_name_, exit.text(), words,
                      refused ? "; if that allocation has ended, unset SLURM_JOB_ID, or give --via "
                                "local for this host alone"
                              : "")};
}

}  // namespace stretto::launch
