// SPDX-License-Identifier: Apache-2.0
// One function for each message, field by field.
#include "common/check.h"
#include "van/control/control.pb.h"
#include "van/control/control_codec.h"

namespace stretto::control {
namespace {

std::uint64_t nanoseconds_of(Duration duration) {
  return static_cast<std::uint64_t>(duration.count());
}

template <typename Enum>
std::uint32_t number_of(Enum value) {
  return static_cast<std::uint32_t>(value);
}

void write(const Hello& hello, wire::Control& message) {
  wire::Hello& out = *message.mutable_hello();
  out.set_protocol(hello.protocol);
  out.set_token(hello.token);
  out.set_role(number_of(hello.role));
  out.set_rank(hello.rank);
  out.set_workers(hello.workers);
  out.set_servers(hello.servers);
  out.set_node(hello.node);
  out.set_address(hello.address);
  out.set_shard(hello.shard);
  out.set_shards(hello.shards);
  out.set_host(hello.host);
  out.set_version(hello.version);
  out.set_session(hello.session);
  out.set_machine(hello.machine);
  out.set_job(hello.job);
  out.set_life(hello.life);
  out.set_padding(std::string(hello.padding, '\0'));
}

void write(const Resume& claim, wire::Control& message) {
  wire::Resume& out = *message.mutable_resume();
  out.set_protocol(claim.protocol);
  out.set_token(claim.token);
  out.set_session(claim.session);
  out.set_link(claim.link);
  out.set_received(claim.received);
  out.set_padding(std::string(claim.padding, '\0'));
}

void write(const Resumed& answer, wire::Control& message) {
  message.mutable_resumed()->set_received(answer.received);
  message.mutable_resumed()->set_padding(std::string(answer.padding, '\0'));
}

void write(const Welcome& welcome, wire::Control& message) {
  message.mutable_welcome()->set_node(welcome.node);
  message.mutable_welcome()->set_rank(welcome.rank);
  message.mutable_welcome()->set_job(welcome.job);
  message.mutable_welcome()->set_life(welcome.life);
  message.mutable_welcome()->set_stands_by(welcome.stands_by);
  message.mutable_welcome()->set_padding(std::string(welcome.padding, '\0'));
}

void write(const Fault& fault, wire::Control& message) {
  STRETTO_CHECK(!fault.why.ok());
  wire::Fault& out = *message.mutable_fault();
  out.set_code(number_of(fault.why.code()));
  out.set_cause(fault.why.cause());
  out.set_peer(fault.why.peer());
  out.set_tensor(fault.tensor);
  out.set_part(fault.part);
  out.set_round(fault.round);
  out.set_name(fault.name);
}

void write(const JobSettings& settings, wire::Settings& out) {
  out.set_part_bytes(settings.part_bytes);
  out.set_link_window_bytes(settings.link_window_bytes);
  out.set_total_window_bytes(settings.total_window_bytes);
  out.set_heartbeat_ns(nanoseconds_of(settings.heartbeat));
  out.set_dead_after_ns(nanoseconds_of(settings.dead_after));
  out.set_stall_error_ns(nanoseconds_of(settings.stall_error));
  out.set_min_workers(settings.min_workers);
  if (settings.worker_links > 1) out.set_worker_links(settings.worker_links);
  out.set_restored(settings.restored);
  out.set_restored_step(settings.restored_step);
  out.set_server_restarts(settings.server_restarts);
  if (settings.replicas > 1) out.set_replicas(settings.replicas);
  out.set_scheduler_absence_ns(nanoseconds_of(settings.scheduler_absence));
}

void write(const Roster& roster, wire::Control& message) {
  wire::Roster& out = *message.mutable_roster();
  out.set_epoch(roster.epoch);
  out.set_fence(roster.fence);
  out.set_workers(roster.workers);
  out.set_servers(roster.servers);
  out.set_slots(roster.slots);
  out.set_since(roster.since);
  out.set_question(roster.question);
  out.set_step(roster.step);
  for (const Member& member : roster.members) {
    wire::Member& m = *out.add_members();
    m.set_node(member.node);
    m.set_role(number_of(member.role));
    m.set_rank(member.rank);
    m.set_shard(member.shard);
    m.set_address(member.address);
    m.set_left(member.left);
    m.set_lost(member.lost);
    m.set_moved_up(member.moved_up);
    m.set_joining(member.joining);
    m.set_from_step(member.from_step);
    m.set_machine(member.machine);
    m.set_standby(member.standby);
  }
  write(roster.settings, *out.mutable_settings());
}

void write(const Leave&, wire::Control& message) { message.mutable_leave(); }

void write(const Failure& failure, wire::Control& message) {
  STRETTO_CHECK(!failure.why.ok());
  message.mutable_failure()->set_code(number_of(failure.why.code()));
  message.mutable_failure()->set_peer(failure.why.peer());
  message.mutable_failure()->set_cause(failure.why.cause());
}

void write(const LinkReport& report, wire::Control& message) {
  message.mutable_link_report()->set_node(report.node);
  message.mutable_link_report()->set_cause(report.cause);
  message.mutable_link_report()->set_state(
      static_cast<wire::LinkReport::State>(static_cast<int>(report.state)));
}

// ---- tensors and rounds

void write(const CodecSpec& codec, wire::CodecSpec& out) {
  out.set_codec(number_of(codec.codec));
  out.set_k(codec.k);
  out.set_scaling(codec.scaling);
  out.set_error_feedback(codec.error_feedback);
  out.set_momentum(codec.momentum);
  out.set_mu(codec.mu);
  out.set_seed(codec.seed);
  out.set_levels(number_of(codec.levels));
  out.set_norm(number_of(codec.norm));
}

void write(const TensorSpec& spec, wire::TensorSpec& out) {
  out.set_name(spec.name);
  out.set_dtype(number_of(spec.dtype));
  out.set_elements(spec.elements);
  out.set_mode(number_of(spec.options.mode));
  out.set_bound(spec.options.bound);
  const RuleOptions& update = spec.options.update;
  out.set_rule(number_of(update.rule));
  out.set_rate(update.rate);
  out.set_momentum(update.momentum);
  out.set_nesterov(update.nesterov);
  out.set_beta1(update.beta1);
  out.set_beta2(update.beta2);
  out.set_epsilon(update.epsilon);
  out.set_weight_decay(update.weight_decay);
  out.set_deterministic(spec.options.deterministic);
  out.set_bulk(spec.options.bulk);
  out.set_shape(spec.options.shape);
  out.set_exchange(number_of(spec.options.exchange));
  out.set_quorum(spec.options.close.quorum);
  out.set_late(number_of(spec.options.close.late));
  out.set_backups(spec.options.close.backups);
  if (spec.options.codec) write(*spec.options.codec, *out.mutable_codec());
}

void write(const Declare& declare, wire::Control& message) {
  STRETTO_CHECK(declare.flaw.ok());
  write(declare.spec, *message.mutable_declare()->mutable_spec());
}

void write(const Declared& declared, wire::Control& message) {
  wire::Declared& out = *message.mutable_declared();
  out.set_tensor(declared.tensor);
  out.set_first_slot(declared.first_slot);
  out.set_name(declared.name);
  for (const SlotRun& run : declared.owners) {
    wire::SlotRun& owner = *out.add_owners();
    owner.set_first(run.first);
    owner.set_count(run.count);
    owner.set_node(run.owner);
  }
  out.set_restored(declared.restored);
}

void write(const Open& open, wire::Control& message) {
  message.mutable_open()->set_tensor(open.tensor);
  write(open.spec, *message.mutable_open()->mutable_spec());
  message.mutable_open()->set_first_slot(open.first_slot);
}

void write(const Barrier& barrier, wire::Control& message) {
  message.mutable_barrier()->set_number(barrier.number);
  message.mutable_barrier()->set_sits_out(barrier.sits_out);
  message.mutable_barrier()->set_last(barrier.last);
  message.mutable_barrier()->set_step(barrier.step);
  message.mutable_barrier()->set_checkpoint(barrier.checkpoint);
  message.mutable_barrier()->set_withdraws(barrier.withdraws);
  message.mutable_barrier()->set_alike(barrier.alike);
  message.mutable_barrier()->set_opened(barrier.opened);
}

void write(const CheckpointCut& cut, wire::Control& message) {
  message.mutable_checkpoint_cut()->set_job(cut.job);
  message.mutable_checkpoint_cut()->set_number(cut.number);
  message.mutable_checkpoint_cut()->set_step(cut.step);
  for (const NodeId worker : cut.workers) message.mutable_checkpoint_cut()->add_workers(worker);
  message.mutable_checkpoint_cut()->set_alike(cut.alike);
}

void write(const CheckpointSaved& saved, wire::Control& message) {
  wire::CheckpointSaved& out = *message.mutable_checkpoint_saved();
  out.set_number(saved.number);
  out.set_file(saved.file);
  out.set_bytes(saved.bytes);
  out.set_seal(saved.seal);
  out.set_entries(saved.entries);
  out.set_code(number_of(saved.why.code()));
  out.set_cause(saved.why.cause());
}

void write(const CheckpointEnded& ended, wire::Control& message) {
  wire::CheckpointEnded& out = *message.mutable_checkpoint_ended();
  out.set_number(ended.number);
  out.set_code(number_of(ended.why.code()));
  out.set_cause(ended.why.cause());
}

void write(const AtStep& said, wire::Control& message) {
  message.mutable_at_step()->set_number(said.number);
  message.mutable_at_step()->set_step(said.step);
  message.mutable_at_step()->set_checkpoint(said.checkpoint);
  message.mutable_at_step()->set_held_us(said.held_us);
}

void write(const TakeIn& said, wire::Control& message) {
  message.mutable_take_in()->set_step(said.step);
  message.mutable_take_in()->set_barriers(said.barriers);
  for (const NodeId node : said.nodes) message.mutable_take_in()->add_nodes(node);
}

void write(const TermPlan& plan, wire::Control& message) {
  wire::TermPlan& out = *message.mutable_term_plan();
  out.set_tensor(plan.tensor);
  out.set_round(plan.round);
  out.set_primitive(plan.primitive);
  for (const std::uint32_t weight : plan.weights) out.add_weights(weight);
}

void write(const Rate& rate, wire::Control& message) {
  message.mutable_rate()->set_bytes_per_second(rate.bytes_per_second);
}

void write(const Regroup& said, wire::Control& message) {
  wire::Regroup& out = *message.mutable_regroup();
  out.set_decided(said.decided);
  out.set_generation(said.generation);
  for (const NodeId node : said.members) out.add_members(node);
  for (const Regroup::Finished& each : said.finished) {
    wire::Regroup::Finished& finished = *out.add_finished();
    finished.set_tensor(each.tensor);
    finished.set_least(each.least);
    for (const std::uint32_t more : each.ahead) finished.add_ahead(more);
  }
}

void write(const SitOut& said, wire::Control& message) {
  message.mutable_sit_out()->set_number(said.number);
  message.mutable_sit_out()->set_over(said.over);
}

void write(const Wanted& wanted, wire::Control& message) {
  write(wanted.spec, *message.mutable_wanted()->mutable_spec());
  message.mutable_wanted()->set_part(wanted.part);
  message.mutable_wanted()->set_round(wanted.round);
}

void write(const Recall& recall, wire::Control& message) {
  wire::Recall& out = *message.mutable_recall();
  out.set_tensor(recall.tensor);
  out.set_part(recall.part);
  out.set_round(recall.round);
  out.set_version(recall.version);
  out.set_finished(recall.finished);
  out.set_owed(recall.owed);
}

void write(const StandbyReady& ready, wire::Control& message) {
  message.mutable_standby_ready()->set_node(ready.node);
}

void write(const PartImage::Standing& each, wire::PartImage::Standing& worker) {
  worker.set_node(each.node);
  worker.set_rounds(each.rounds);
  worker.set_before(each.before);
  worker.set_number(each.number);
}

void write(const Move& move, wire::Control& message) {
  wire::Move& out = *message.mutable_move();
  out.set_server(move.server);
  out.set_host(move.host);
  if (!move.why.ok()) out.set_code(number_of(move.why.code()));
  out.set_cause(move.why.cause());
  out.set_joining(move.joining);
  out.set_any(move.any);
  out.set_machine(move.machine);
  out.set_other(move.other);
  out.set_settings(move.settings);
}

void write(const PartImage& image, wire::Control& message) {
  wire::PartImage& out = *message.mutable_part_image();
  out.set_tensor(image.tensor);
  out.set_part(image.part);
  out.set_version(image.version);
  out.set_finished(image.finished);
  out.set_empty(image.empty);
  for (const PartImage::Standing& each : image.workers) write(each, *out.add_workers());
  out.set_total(image.total);
  out.set_made_nothing(image.made_nothing);
}

void write(const LogEntry& entry, wire::Control& message) {
  wire::LogEntry& out = *message.mutable_log_entry();
  out.set_tensor(entry.tensor);
  out.set_part(entry.part);
  out.set_version(entry.version);
  out.set_worker(entry.worker);
  out.set_listeners(entry.listeners);
  out.set_assign(entry.assign);
  out.set_total(entry.total);
  if (!entry.regrouped) return;
  for (const NodeId maker : entry.regrouped->makers) out.add_makers(maker);
  for (const auto& each : entry.regrouped->workers) write(each, *out.add_workers());
  out.set_finished(entry.regrouped->finished);
  out.set_empty(entry.regrouped->empty);
}

void write(const StateRequest& request, wire::Control& message) {
  wire::StateRequest& out = *message.mutable_state_request();
  out.set_number(request.number);
  out.set_tensor(request.tensor);
  out.set_part(request.part);
  out.set_offset(request.offset);
  out.set_set(request.set);
  out.set_total(request.total);
}

void write(const StatePiece& piece, wire::Control& message) {
  wire::StatePiece& out = *message.mutable_state_piece();
  out.set_number(piece.number);
  out.set_total(piece.total);
  out.set_version(piece.version);
  out.set_piece(piece.piece);
  out.set_code(number_of(piece.why.code()));
  out.set_cause(piece.why.cause());
}

void write(const Steer& steer, wire::Control& message) {
  wire::Steer& out = *message.mutable_steer();
  out.set_call(steer.call);
  out.set_priority(steer.priority);
  out.set_deadline_us(steer.deadline_us);
  out.set_paused(steer.paused);
  out.set_cancelled(steer.cancelled);
}

// ---- heartbeats

void write(const InputTotals& totals, wire::InputProgress& out) {
  out.set_at_ns(nanoseconds_of(totals.at.time_since_epoch()));
  out.set_delivered_bytes(totals.delivered_bytes);
  out.set_demanded_bytes(totals.demanded_bytes);
  out.set_stall_ns(nanoseconds_of(totals.stall));
  out.set_requests(totals.requests);
  out.set_latency_ns(nanoseconds_of(totals.latency));
  out.set_in_flight_bytes(totals.in_flight_bytes);
  out.set_read_bytes(totals.read_bytes);
}

void write(const LongWait& wait, wire::LongWait& out) {
  out.set_tensor(wait.tensor);
  out.set_round(wait.round);
  out.set_ns(nanoseconds_of(wait.age));
  for (const Rank rank : wait.ranks) out.add_ranks(rank);
  out.set_workers(wait.workers);
  out.set_tensors(wait.tensors);
}

void write(const Activity& activity, wire::Activity& out) {
  out.set_place(static_cast<std::uint32_t>(activity.place));
  out.set_ns(nanoseconds_of(activity.age));
  out.set_call(activity.call);
  out.set_pause(activity.pause);
  out.set_begun(activity.begun);
  out.set_ended(activity.ended);
  for (const NodeId node : activity.awaits) out.add_awaits(node);
  out.set_held(activity.held);
  out.set_cpu_ns(nanoseconds_of(activity.cpu));
  out.set_page_reads(activity.page_reads);
  out.set_rest(static_cast<std::uint32_t>(activity.rest));
  out.set_rest_on(activity.rest_on);
}

void write(const Heartbeat& beat, wire::Control& message) {
  wire::Heartbeat& out = *message.mutable_heartbeat();
  out.set_number(beat.number);
  out.set_rounds(beat.rounds);
  out.set_staleness(beat.staleness);
  out.set_bytes_in(beat.bytes_in);
  out.set_bytes_out(beat.bytes_out);
  out.set_frames_waiting(beat.frames_waiting);
  out.set_bytes_in_flight(beat.bytes_in_flight);
  for (const Held& held : beat.held) {
    wire::Held& each = *out.add_held();
    each.set_rank(held.rank);
    each.set_ns(nanoseconds_of(held.time));
  }
  if (beat.input) write(*beat.input, *out.mutable_input());
  out.set_waits_in(beat.waits_in);
  out.set_elsewhere(beat.elsewhere);
  out.set_input_limit_bytes(beat.input_limit_bytes);
  for (const auto& [name, value] : beat.reports) {
    wire::Report& report = *out.add_reports();
    report.set_name(name);
    report.set_value(value);
  }
  for (const LongWait& wait : beat.long_waits) write(wait, *out.add_long_waits());
  for (const EndedWait& wait : beat.ended_waits) {
    wire::EndedWait& each = *out.add_ended_waits();
    each.set_rounds(wait.rounds);
    each.set_ns(nanoseconds_of(wait.time));
  }
  if (beat.activity) write(*beat.activity, *out.mutable_activity());
  out.set_wants_stack(beat.wants_stack);
  out.set_stack(beat.stack);
  for (const Chosen& chosen : beat.chosen) {
    wire::Chosen& each = *out.add_chosen();
    each.set_plan(chosen.plan);
    each.set_tensors(chosen.tensors);
    each.set_bytes(chosen.bytes);
    each.set_why(chosen.why);
  }
}

void write(const TraceCommand& command, wire::Control& message) {
  wire::TraceCommand& out = *message.mutable_trace_command();
  out.set_action(static_cast<wire::TraceCommand::Action>(command.action));
  out.set_session(command.session);
  out.set_iterations(command.iterations);
  out.set_records(command.records);
}

void write(const TraceChunk& chunk, wire::Control& message) {
  wire::TraceChunk& out = *message.mutable_trace_chunk();
  out.set_session(chunk.session);
  if (!chunk.notes.empty()) {
    out.set_notes(chunk.notes.data(), chunk.notes.size() * sizeof(TraceNote));
  }
  out.set_dropped(chunk.dropped);
  out.set_reached(chunk.reached);
  out.set_refused(chunk.refused);
}

void write(const Observe& question, wire::Control& message) {
  wire::Observe& out = *message.mutable_observe();
  out.set_what(static_cast<wire::Observe::What>(question.what));
  out.set_first(question.first);
  out.set_iterations(question.iterations);
  out.set_seconds(question.seconds);
  out.set_offset(question.offset);
}

void write(const Observed& answer, wire::Control& message) {
  message.mutable_observed()->set_what(number_of(answer.what));
  message.mutable_observed()->set_text(answer.text);
  message.mutable_observed()->set_records(answer.records);
}

}  // namespace

Buffer encode(const Message& message) {
  wire::Control body;
  std::visit([&body](const auto& each) { write(each, body); }, message);
  Buffer buffer = Buffer::allocate(body.ByteSizeLong());
  const auto bytes = buffer.writable();
  body.SerializeToArray(bytes.data(), static_cast<int>(bytes.size()));
  return buffer;
}

}  // namespace stretto::control
