// SPDX-License-Identifier: Apache-2.0
// One trace at a time: while it writes files, a node ignores other trace commands.
#include "van/membership/trace_agent.h"

#include <algorithm>
#include <limits>
#include <span>

#include "common/log.h"

namespace stretto {
namespace {

constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max() / 2;

}  // namespace

TraceAgent::TraceAgent(const Config& config, Van& van) : config_(config), van_(van) {
  van_.trace().set_tracer(&tracer_);
}

bool TraceAgent::on_control(LinkId link, const control::Message& message) {
  const auto* command = std::get_if<control::TraceCommand>(&message);
  if (command == nullptr) return false;
  switch (command->action) {
    case control::TraceCommand::Action::kStart:
      if (recorder_ != nullptr) return true;  // The answers report it.
      session_ = command->session;
      last_round_ = command->iterations == 0 ? kNoEnd : rounds_ + command->iterations;
      begin(command->records);
      for (int end = 0; end < 2;
           ++end) {  // Drops an earlier session's notes, past the ring's end as well.
        tracer_.ring()->release(tracer_.ring()->look().size());
      }
      dropped_before_ = tracer_.ring()->dropped();
      return true;
    case control::TraceCommand::Action::kStop:
      if (recorder_ == nullptr) stop();
      return true;
    case control::TraceCommand::Action::kSend:
      answer(link, command->session);
      return true;
    case control::TraceCommand::Action::kNone:
      break;
  }
  return true;
}

void TraceAgent::answer(LinkId link, std::uint64_t session) {
  control::TraceChunk chunk{.session = session, .refused = recorder_ != nullptr};
  if (recorder_ == nullptr && session == session_ && tracer_.ring() != nullptr) {
    std::span<const TraceNote> notes = tracer_.ring()->look();
    notes = notes.first(std::min(notes.size(), control::TraceChunk::kMostNotes));
    chunk.notes.assign(notes.begin(), notes.end());
    tracer_.ring()->release(notes.size());
    chunk.dropped = tracer_.ring()->dropped() - dropped_before_;
    chunk.reached = rounds_ > last_round_;
  }
  van_.send_control(link, chunk);
}

void TraceAgent::name(std::uint32_t tensor, const std::string& name) {
  if (recorder_ != nullptr) recorder_->name(tensor, name);
}

void TraceAgent::tick(const MembershipClient& membership, std::uint32_t shard,
                      std::uint64_t rounds) {
  rounds_ = rounds;
  if (!looked_ && membership.state() == MembershipClient::State::kMember) {
    looked_ = true;
    start_files(membership, shard);
  }
  if (recorder_ == nullptr && rounds_ > last_round_ + 1) stop();  // One more ends all spans.
  if (byteps_) follow_steps(rounds);
}

void TraceAgent::start_files(const MembershipClient& membership, std::uint32_t shard) {
  const TraceSettings& settings = config_.trace;
  if (!settings.folder.empty()) {
    const trace::Node who{.node = membership.node(),
                          .role = config_.role,
                          .rank = membership.number(),
                          .shard = shard,
                          .job = membership.scheduler().job(),
                          .dropped = 0,
                          .records = {}};
    if (settings.byteps && config_.role == Role::kWorker && settings.local_rank == 0) {
      log(Level::kWarning,
          "trace: STRETTO_TRACE and BYTEPS_TRACE_ON are both set: only the files of STRETTO_TRACE "
          "are written, and no comm.json; unset one of the two");
    }
    begin(settings.records);
    keep(trace::folder_sink(settings.folder, who));
  } else if (settings.byteps && config_.role == Role::kWorker) {
    // The recorder reads the ring, so it must exist from now on; the steps enable it.
    tracer_.start(settings.records);
    tracer_.stop();
    keep(trace::byteps_sink(settings.byteps_folder, settings.local_rank,
                            {.first = settings.first_step, .last = settings.last_step}));
    byteps_ = recorder_ != nullptr;
  }
}

// A trace that cannot be written does not end the job: the error is logged.
void TraceAgent::keep(Result<std::unique_ptr<trace::Sink>> sink) {
  if (sink.ok()) {
    recorder_ = std::make_unique<trace::Recorder>(*tracer_.ring(), std::move(*sink));
  } else {
    tracer_.stop();
    log(Level::kWarning, "{}", sink.status().cause());
  }
}

void TraceAgent::begin(std::size_t records) {
  tracer_.start(records);
  began_ = van_.clock().now();
}

// The end time is noted, because a trace without notes at its end would be ambiguous.
void TraceAgent::stop() {
  if (!tracer_.on()) return;
  TraceRecord all;
  all.kind = TraceKind::kTraced;
  all.begin_ns = trace_time(began_);
  all.end_ns = trace_time(van_.clock().now());
  tracer_.note(all);
  tracer_.stop();
}

// Covers one round more at both ends; the sink selects the steps.
void TraceAgent::follow_steps(std::uint64_t rounds) {
  if (rounds > config_.trace.last_step && rounds - config_.trace.last_step > 1) {
    stop();
    recorder_->finish();
    byteps_ = false;
  } else if (rounds + 2 >= config_.trace.first_step && !tracer_.on()) {
    begin(config_.trace.records);
  }
}

}  // namespace stretto
