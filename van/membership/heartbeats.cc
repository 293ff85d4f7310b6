// SPDX-License-Identifier: Apache-2.0
// Contents of a heartbeat.
#include "van/membership/heartbeats.h"

#include <algorithm>
#include <utility>

#include "common/text.h"
#include "common/threads/thread_dump.h"

namespace stretto {

void Heartbeats::set_progress(const Progress& progress) {
  if (progress.waits_in != progress_.waits_in) elsewhere_.clear();
  progress_ = progress;
}

// Concurrent stalls of parts of one round count as one: the longest.
void Heartbeats::add_ended_wait(const control::EndedWait& wait) {
  if (!ended_waits_.empty() && ended_waits_.back().rounds == wait.rounds) {
    ended_waits_.back().time = std::max(ended_waits_.back().time, wait.time);
  } else if (ended_waits_.size() < control::Heartbeat::kMostEndedWaits) {
    ended_waits_.push_back(wait);
  }
}

void Heartbeats::end() {
  next_ = Time::max();
  others_pause_ = false;
  input_limit_bytes_ = 0;  // The limit ends with the job.
}

control::Heartbeat Heartbeats::take(const Van& van, Time now, Duration interval) {
  control::Heartbeat beat;
  beat.number = ++sent_;
  beat.rounds = progress_.rounds;
  beat.staleness = progress_.staleness;
  beat.bytes_in = van.counters().data_bytes_in;
  beat.bytes_out = van.counters().data_bytes_out;
  beat.frames_waiting = van.queue().waiting();
  beat.bytes_in_flight = van.queue().windows().in_flight();
  while (!held_.empty() && beat.held.size() < control::Heartbeat::kMostHeld) {
    beat.held.push_back({.rank = held_.begin()->first, .time = held_.begin()->second});
    held_.erase(held_.begin());
  }
  beat.waits_in = progress_.waits_in;
  beat.input = progress_.input;
  beat.reports = progress_.reports;
  beat.chosen = std::exchange(progress_.chosen, {});
  beat.long_waits = long_waits_;
  beat.ended_waits = std::exchange(ended_waits_, {});
  beat.activity = progress_.activity;
  if (std::exchange(stack_wanted_, false)) {
    beat.stack =
        shortened(threads_in_words() + progress_.stack, control::Heartbeat::kMostStackBytes);
  }
  next_ = now + interval;
  return beat;
}

// The last text is kept: other workers may leave a call before this one does.
void Heartbeats::hear(const control::Heartbeat& beat) {
  input_limit_bytes_ = beat.input_limit_bytes;
  stack_wanted_ = beat.wants_stack;
  others_pause_ = beat.activity && !beat.activity->pause.empty();
  if (!progress_.waits_in.empty() && !beat.elsewhere.empty()) elsewhere_ = beat.elsewhere;
}

}  // namespace stretto
