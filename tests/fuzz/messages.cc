// SPDX-License-Identifier: Apache-2.0
// One function for each message that has fields worth changing.
#include "tests/fuzz/messages.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <span>

#include "common/check.h"

namespace stretto::fuzz {
namespace {

constexpr std::size_t kBodies = 38;  // Including no body.

double rate_from(Input& input) {
  constexpr double kRates[] = {0.01, 0.9, 0, 1, -1, 1e300};
  const std::size_t choice = input.below(8);
  if (choice < std::size(kRates)) return kRates[choice];
  return input.take<double>();
}

void fill(wire::Welcome& welcome, Input& input) {
  welcome.set_node(input.small());
  welcome.set_rank(static_cast<std::int64_t>(input.number()));
  welcome.set_life(input.small());
  welcome.set_stands_by(input.rarely(8));
}

void fill(wire::Hello& hello, Input& input) {
  hello.set_protocol(input.rarely(16) ? input.small() : wire::kProtocol);
  hello.set_token(input.rarely(8) ? input.text() : "secret");
  hello.set_role(input.rarely(8) ? input.small() : 2 + (input.byte() & 1));
  hello.set_rank(static_cast<std::int64_t>(input.number()) - 1);
  hello.set_workers(input.small());
  hello.set_servers(input.small());
  hello.set_node(input.small());
  hello.set_address(input.flag() ? "peer:1" : input.text());
  hello.set_shard(input.small());
  hello.set_shards(input.small());
  hello.set_machine(input.number());
  if (input.rarely(4)) hello.set_job(input.number());
  if (input.rarely(4)) hello.set_life(input.small());
  hello.set_host(input.flag() ? "here:1" : input.text());
}

void fill(wire::InputProgress& progress, Input& input) {
  progress.set_at_ns(input.flag() ? input.number() * 1'000'000'000 : input.number());
  progress.set_delivered_bytes(input.number());
  progress.set_demanded_bytes(input.flag() ? progress.delivered_bytes() : input.number());
  progress.set_stall_ns(input.number());
  progress.set_requests(input.number());
  progress.set_latency_ns(input.number());
  progress.set_in_flight_bytes(input.number());
  progress.set_read_bytes(input.number());
}

void fill(wire::Fault& fault, Input& input) {
  fault.set_code(input.small());
  fault.set_cause(input.text());
  fault.set_tensor(input.small());
  fault.set_part(input.small());
  if (input.flag()) fault.set_name(input.flag() ? "barrier" : fmt::format("t{}", input.below(4)));
}

void fill(wire::Roster& roster, Input& input) {
  const std::uint32_t servers = input.small();
  roster = to_bend(Roster{.epoch = input.small(),
                          .fence = input.small(),
                          .workers = input.small(),
                          .servers = servers,
                          .slots = input.rarely(8) ? input.small()
                                   : servers == 0  ? 0
                                                   : kSlots,
                          .members = {},
                          .settings = job_settings()})
               .roster();
  for (std::size_t left = input.below(6); left > 0; --left) {
    wire::Member& member = *roster.add_members();
    member.set_node(input.small());
    member.set_role(input.rarely(8) ? input.small() : 2 + (input.byte() & 1));
    member.set_rank(input.small());
    member.set_shard(input.small());
    member.set_address(input.flag() ? "shard-0:1" : input.text());
    member.set_left(input.flag());
  }
  if (input.rarely(8)) roster.mutable_settings()->set_part_bytes(64 * input.small());
  if (input.rarely(8)) roster.mutable_settings()->set_link_window_bytes(input.number());
  if (input.rarely(8)) roster.mutable_settings()->set_heartbeat_ns(input.take<std::uint64_t>());
}

void fill(wire::Declared& declared, Input& input) {
  declared.set_tensor(input.small());
  declared.set_first_slot(input.small());
  declared.set_name(fmt::format("t{}", input.below(4)));
  for (std::size_t left = input.below(6); left > 0; --left) {
    wire::SlotRun& run = *declared.add_owners();
    run.set_first(input.small());
    run.set_count(input.rarely(8) ? input.take<std::uint32_t>() : kSlots >> input.below(14));
    run.set_node(input.small());
  }
}

// Messages of checkpoints, joins and resumed sessions. False: `body` is none of these.
bool fill_of_checkpoints(wire::Control& message, wire::Control::BodyCase body, Input& input) {
  if (body == wire::Control::kCheckpointCut) {
    wire::CheckpointCut& cut = *message.mutable_checkpoint_cut();
    cut.set_number(input.number());
    cut.set_step(input.number());
    cut.set_alike(input.flag());
    for (std::size_t left = input.below(6); left > 0; --left) cut.add_workers(input.small());
    return true;
  }
  if (body == wire::Control::kCheckpointSaved) {
    wire::CheckpointSaved& saved = *message.mutable_checkpoint_saved();
    saved.set_number(input.number());
    saved.set_file(input.text());
    saved.set_bytes(input.number());
    saved.set_code(input.small());
    return true;
  }
  if (body == wire::Control::kPartImage) {
    wire::PartImage& image = *message.mutable_part_image();
    image.set_tensor(input.small());
    image.set_part(input.small());
    image.set_version(input.number());
    image.set_finished(input.number());
    image.set_empty(input.rarely(4) ? input.number() : 0);
    for (std::size_t left = input.below(6); left > 0; --left) {
      wire::PartImage::Standing& worker = *image.add_workers();
      worker.set_node(input.small());
      worker.set_rounds(input.number());
      worker.set_before(input.rarely(4) ? input.number() : 0);
      worker.set_number(input.small());
    }
    image.set_total(input.rarely(4) ? input.number() : 40 + 4 * input.small());
    return true;
  }
  if (body == wire::Control::kLogEntry) {
    wire::LogEntry& entry = *message.mutable_log_entry();
    entry.set_tensor(input.small());
    entry.set_part(input.small());
    entry.set_version(input.small());
    entry.set_worker(input.small());
    entry.set_listeners(input.rarely(4) ? input.small() : 0);
    entry.set_assign(input.flag());
    entry.set_total(input.rarely(4) ? input.number() : 4 * input.small());
    for (std::size_t left = input.below(4); left > 0; --left) entry.add_makers(input.small());
    for (std::size_t left = input.below(4); left > 0; --left) {
      wire::PartImage::Standing& worker = *entry.add_workers();
      worker.set_node(input.small());
      worker.set_rounds(input.number());
      worker.set_number(input.small());
    }
    entry.set_finished(input.small());
    entry.set_empty(input.rarely(4) ? input.number() : 0);
    return true;
  }
  if (body == wire::Control::kRecall) {
    wire::Recall& recall = *message.mutable_recall();
    recall.set_tensor(input.small());
    recall.set_part(input.small());
    recall.set_round(input.number());
    recall.set_version(input.number());
    recall.set_finished(input.number());
    recall.set_owed(input.rarely(2));
    return true;
  }
  if (body != wire::Control::kCheckpointEnded) return false;
  message.mutable_checkpoint_ended()->set_number(input.number());
  message.mutable_checkpoint_ended()->set_code(input.small());
  return true;
}

void fill(wire::Move& move, Input& input) {
  move.set_server(input.small());
  move.set_host(input.flag() ? "node1" : input.text());
  move.set_code(input.rarely(4) ? input.small() : 0);
  move.set_joining(input.flag() ? input.small() : 0);
  if (move.joining() != 0 || input.rarely(8)) {
    move.set_any(input.flag());
    move.set_machine(input.number());
  }
  move.set_other(input.rarely(4) ? input.small() : 0);
  if (input.rarely(8)) move.set_settings(input.text());
}

void fill_of_links_and_steps(wire::Control& message, wire::Control::BodyCase body, Input& input) {
  if (fill_of_checkpoints(message, body, input)) return;
  if (body == wire::Control::kMove) return fill(*message.mutable_move(), input);
  if (body == wire::Control::kAtStep) {
    message.mutable_at_step()->set_number(input.number());
    message.mutable_at_step()->set_step(input.number());
    message.mutable_at_step()->set_checkpoint(input.rarely(4));
    return;
  }
  if (body == wire::Control::kTakeIn) {
    wire::TakeIn& said = *message.mutable_take_in();
    said.set_step(input.number());
    said.set_barriers(input.number());
    for (std::size_t left = input.below(6); left > 0; --left) said.add_nodes(input.small());
    return;
  }
  if (body == wire::Control::kTermPlan) {
    wire::TermPlan& said = *message.mutable_term_plan();
    said.set_tensor(input.small());
    said.set_round(input.number());
    said.set_primitive(input.small());
    for (std::size_t left = input.below(6); left > 0; --left) said.add_weights(input.small());
    return;
  }
  if (body == wire::Control::kRegroup) {
    wire::Regroup& said = *message.mutable_regroup();
    said.set_decided(input.flag());
    said.set_generation(input.number());
    for (std::size_t left = input.below(6); left > 0; --left) said.add_members(input.small());
    for (std::size_t left = input.below(4); left > 0; --left) {
      wire::Regroup::Finished& finished = *said.add_finished();
      finished.set_tensor(input.small());
      finished.set_least(input.number());
      for (std::size_t more = input.below(6); more > 0; --more) finished.add_ahead(input.small());
    }
    return;
  }
  if (body == wire::Control::kRate) {
    message.mutable_rate()->set_bytes_per_second(input.number());
    return;
  }
  if (body == wire::Control::kResumed) {
    message.mutable_resumed()->set_received(input.number());
    return;
  }
  wire::Resume& resume = *message.mutable_resume();
  resume.set_protocol(input.small());
  resume.set_token(input.text());
  resume.set_session(input.number());
  resume.set_link(input.small());
  resume.set_received(input.number());
}

void fill(wire::Open& open, Input& input) {
  open.set_tensor(input.small());
  *open.mutable_spec() = spec_from(input);
  const std::uint32_t most = 2 * kSlots;
  open.set_first_slot(input.rarely(8) ? input.take<std::uint32_t>()
                                      : input.take<std::uint16_t>() % most);
}

void fill(wire::Steer& steer, Input& input) {
  steer.set_call(input.small());
  steer.set_priority(static_cast<std::int32_t>(input.number()));
  steer.set_deadline_us(input.number());
  steer.set_paused(input.flag());
  steer.set_cancelled(input.flag());
}

// Messages of traces and of observers.
void fill_of_traces(wire::Control& message, wire::Control::BodyCase body, Input& input) {
  if (body == wire::Control::kTraceCommand) {
    wire::TraceCommand& command = *message.mutable_trace_command();
    command.set_action(static_cast<wire::TraceCommand::Action>(input.below(5)));
    command.set_session(input.below(4));
    command.set_iterations(input.small());
    command.set_records(input.rarely(8) ? input.take<std::uint32_t>() : 64);
  } else if (body == wire::Control::kTraceChunk) {
    wire::TraceChunk& chunk = *message.mutable_trace_chunk();
    chunk.set_session(input.below(4));
    std::string notes = input.text();
    if (!input.rarely(8)) notes.resize(notes.size() / sizeof(TraceNote) * sizeof(TraceNote));
    chunk.set_notes(notes);
    chunk.set_dropped(input.number());
    chunk.set_reached(input.flag());
    chunk.set_refused(input.flag());
  } else if (body == wire::Control::kObserve) {
    wire::Observe& observe = *message.mutable_observe();
    observe.set_what(static_cast<wire::Observe::What>(input.below(8)));
    observe.set_first(input.small());
    observe.set_iterations(input.small());
    observe.set_seconds(input.small());
    observe.set_offset(input.number());
  } else {
    message.mutable_observed()->set_what(input.small());
    message.mutable_observed()->set_text(input.text());
    message.mutable_observed()->set_records(input.text());
  }
}

// Messages of optimizer state.
void fill_of_states(wire::Control& message, wire::Control::BodyCase body, Input& input) {
  if (body == wire::Control::kStateRequest) {
    wire::StateRequest& request = *message.mutable_state_request();
    request.set_number(input.below(4));
    request.set_tensor(input.small());
    request.set_part(static_cast<std::uint32_t>(input.below(4)));
    request.set_offset(input.flag() ? 0 : input.number());
    request.set_set(input.flag() ? std::string() : input.text());
    request.set_total(input.flag() ? request.set().size() : input.number());
  } else {
    wire::StatePiece& piece = *message.mutable_state_piece();
    piece.set_number(input.below(4));
    piece.set_total(input.number());
    piece.set_version(input.below(4));
    piece.set_piece(input.text());
    piece.set_code(input.rarely(4) ? input.small() : 0);
    piece.set_cause(input.text());
  }
}

}  // namespace

Buffer bytes_of(const wire::Control& message) {
  const std::string bytes = message.SerializeAsString();
  return Buffer::copy_of(std::as_bytes(std::span(bytes)));
}

wire::Control to_bend(const control::Message& message) {
  const Buffer bytes = control::encode(message);
  wire::Control bent;
  STRETTO_CHECK(bent.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  return bent;
}

JobSettings job_settings() {
  JobSettings settings;
  settings.part_bytes = kPartBytes;
  settings.link_window_bytes = 512;
  settings.total_window_bytes = 2048;
  settings.stall_error = 10s;
  return settings;
}

wire::TensorSpec spec_from(Input& input) {
  constexpr std::uint64_t kElements[] = {16, 40, 1, 0, 17, 32, 8, 1000};
  wire::TensorSpec spec;
  spec.set_name(input.rarely(16) ? input.text() : fmt::format("t{}", input.below(4)));
  spec.set_dtype(input.rarely(8) ? input.small() : 1 + static_cast<std::uint32_t>(input.below(8)));
  spec.set_elements(input.rarely(16) ? input.take<std::uint64_t>() : kElements[input.below(8)]);
  spec.set_mode(input.rarely(16) ? input.small() : 1 + static_cast<std::uint32_t>(input.below(3)));
  spec.set_rule(input.rarely(16) ? input.small() : 1 + static_cast<std::uint32_t>(input.below(9)));
  spec.set_bound(input.small());
  spec.set_deterministic(input.rarely(4));
  spec.set_nesterov(input.rarely(4));
  spec.set_rate(rate_from(input));
  spec.set_momentum(rate_from(input));
  spec.set_beta1(rate_from(input));
  spec.set_beta2(rate_from(input));
  spec.set_epsilon(rate_from(input));
  spec.set_weight_decay(rate_from(input));
  if (input.rarely(4)) spec.set_shape(input.rarely(2) ? "2\n3" : "2x3");
  return spec;
}

// The parts of a heartbeat that are only displayed.
void fill_of_sights(wire::Heartbeat& beat, Input& input) {
  if (input.flag()) beat.set_waits_in(input.text());
  if (input.flag()) beat.set_elsewhere(input.text());
  while (input.rarely(3) && beat.chosen_size() < 12) {
    wire::Chosen& chosen = *beat.add_chosen();
    chosen.set_plan(input.text());
    chosen.set_tensors(input.small());
    chosen.set_bytes(input.take<std::uint64_t>());
    chosen.set_why(input.text());
  }
  while (input.rarely(3) && beat.reports_size() < 40) {
    wire::Report& report = *beat.add_reports();
    report.set_name(input.text());
    report.set_value(std::bit_cast<double>(input.take<std::uint64_t>()));
  }
  while (input.rarely(3) && beat.ended_waits_size() < 20) {
    beat.add_ended_waits()->set_rounds(input.number());
    beat.mutable_ended_waits(beat.ended_waits_size() - 1)->set_ns(input.number());
  }
  if (input.flag()) {
    wire::Activity& activity = *beat.mutable_activity();
    activity.set_place(input.small());
    activity.set_ns(input.number());
    activity.set_call(input.text());
    activity.set_pause(input.text());
    activity.set_cpu_ns(input.number());
    activity.set_page_reads(input.number());
    activity.set_rest(input.small());
    activity.set_rest_on(input.text());
    beat.set_wants_stack(input.flag());
    beat.set_stack(input.text());
    for (std::size_t i = input.below(12); i > 0; --i) activity.add_awaits(input.small());
  }
  while (input.rarely(3) && beat.long_waits_size() < 12) {
    wire::LongWait& wait = *beat.add_long_waits();
    wait.set_tensor(input.text());
    wait.set_round(input.number());
    wait.set_ns(input.number());
    for (std::size_t i = input.below(12); i > 0; --i) wait.add_ranks(input.small());
    wait.set_workers(input.small());
    wait.set_tensors(input.small());
  }
}

void fill(wire::Heartbeat& beat, Input& input) {
  beat.set_number(input.number());
  if (input.flag()) fill(*beat.mutable_input(), input);
  beat.set_input_limit_bytes(input.flag() ? input.number() : 0);
  fill_of_sights(beat, input);
}

// Messages of paused workers.
void fill_of_empty_shares(wire::Control& message, wire::Control::BodyCase body, Input& input) {
  if (body == wire::Control::kSitOut) {
    message.mutable_sit_out()->set_number(input.small());
    message.mutable_sit_out()->set_over(input.flag());
  } else {
    *message.mutable_wanted()->mutable_spec() = spec_from(input);
    message.mutable_wanted()->set_part(input.small());
    message.mutable_wanted()->set_round(input.number());
  }
}

wire::Control control_from(Input& input) {
  wire::Control message;
  const std::size_t body = input.below(kBodies);
  switch (static_cast<wire::Control::BodyCase>(body)) {
    case wire::Control::kHello:
      fill(*message.mutable_hello(), input);
      break;
    case wire::Control::kWelcome:
      fill(*message.mutable_welcome(), input);
      break;
    case wire::Control::kFault:
      fill(*message.mutable_fault(), input);
      break;
    case wire::Control::kRoster:
      fill(*message.mutable_roster(), input);
      break;
    case wire::Control::kDeclare:
      *message.mutable_declare()->mutable_spec() = spec_from(input);
      break;
    case wire::Control::kDeclared:
      fill(*message.mutable_declared(), input);
      break;
    case wire::Control::kOpen:
      fill(*message.mutable_open(), input);
      break;
    case wire::Control::kBarrier:
      message.mutable_barrier()->set_number(input.number());
      message.mutable_barrier()->set_sits_out(input.rarely(4));
      message.mutable_barrier()->set_opened(input.rarely(4));
      message.mutable_barrier()->set_checkpoint(input.rarely(4) ? input.number() : 0);
      break;
    case wire::Control::kHeartbeat:
      fill(*message.mutable_heartbeat(), input);
      break;
    case wire::Control::kLeave:
      message.mutable_leave();
      break;
    case wire::Control::kFailure:
      message.mutable_failure()->set_code(input.small());
      message.mutable_failure()->set_peer(input.text());
      break;
    case wire::Control::kLinkReport:
      message.mutable_link_report()->set_node(input.small());
      message.mutable_link_report()->set_cause(input.text());
      break;
    case wire::Control::kSteer:
      fill(*message.mutable_steer(), input);
      break;
    case wire::Control::kTraceCommand:
    case wire::Control::kTraceChunk:
    case wire::Control::kObserve:
    case wire::Control::kObserved:
      fill_of_traces(message, static_cast<wire::Control::BodyCase>(body), input);
      break;
    case wire::Control::kStateRequest:
    case wire::Control::kStatePiece:
      fill_of_states(message, static_cast<wire::Control::BodyCase>(body), input);
      break;
    case wire::Control::kSitOut:
    case wire::Control::kWanted:
      fill_of_empty_shares(message, static_cast<wire::Control::BodyCase>(body), input);
      break;
    case wire::Control::BODY_NOT_SET:
      break;
    default:
      fill_of_links_and_steps(message, static_cast<wire::Control::BodyCase>(body), input);
  }
  return message;
}

}  // namespace stretto::fuzz
