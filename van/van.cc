// SPDX-License-Identifier: Apache-2.0
// Links come, are admitted or refused, and end; a turn of the loop.
#include "van/van.h"

#include <algorithm>

#include "van/control_codec.h"

namespace stretto {
namespace {

constexpr std::size_t kBatchBytes = 16 << 10;  // Taken before what they led to is sent.

}  // namespace

Van::Van(std::unique_ptr<Transport> transport, const Clock& clock)
    : transport_(std::move(transport)),
      waker_(std::make_shared<Waker>(*transport_)),
      clock_(clock),
      out_({*transport_, links_, trace_, counters_, clock_}),
      mender_({*transport_, links_, trace_, counters_, clock_}, out_),
      in_({*transport_, links_, trace_, counters_, clock_}, out_, mender_) {}

Van::~Van() { waker_->silence(); }

void Van::set_epoch(std::uint32_t epoch, std::uint32_t fence) {
  out_.set_epoch(epoch);
  in_.set_fence(fence);
}

// ---- what is to go

void Van::send(LinkId link, const wire::Header& header, Buffer payload, const Terms& terms) {
  owner_.check_if_owned();
  Frame frame;
  frame.header = header;
  frame.payload = std::move(payload);
  frame.deadline = terms.deadline;
  frame.tag = terms.tag;
  frame.bulk = terms.bulk;
  out_.queue().push(link, trace_.queued(std::move(frame)));
}

void Van::send_control(LinkId link, const control::Message& message) {
  send_control(link, control::encode(message));
}

void Van::send_control(LinkId link, Buffer message) {
  owner_.check_if_owned();
  out_.queue_control(link, std::move(message));
}

Time Van::deadline_in(std::uint64_t microseconds) const {
  constexpr std::uint64_t kMost = 1'000'000ULL * 3600 * 24;
  if (microseconds == 0 || microseconds > kMost) return Time::max();
  return clock_.now() + std::chrono::microseconds(microseconds);
}

void Van::ack(LinkId id, std::uint64_t push_sequence, bool at_once) {
  owner_.check_if_owned();
  LinkState* link = links_.find(id);
  if (link == nullptr) return;
  link->session.owed().apply(push_sequence, at_once);
  out_.note_owed(id, *link);
}

// ---- the lives of links

void Van::add(LinkId id, bool ours) {
  const Time now = clock_.now();
  links_.add(id, ours, now);
  out_.add_link(id, now);
}

void Van::on_link(LinkId link) {
  if (links_.unsettled().full()) {
    ++counters_.refused;
    transport_->close(link);
    return;
  }
  add(link, false);
}

Result<LinkId> Van::connect(std::string_view address, const control::Hello& hello) {
  Result<LinkId> link = transport_->connect(address);
  if (!link.ok()) return link;
  add(*link, true);
  LinkState& state = *links_.find(*link);
  state.address = address;
  state.token = hello.token;
  state.session.outlive(mender_.new_name());
  control::Hello greeting = hello;
  greeting.session = state.session.name();
  send_control(*link, greeting);
  return link;
}

void Van::admit(LinkId link, NodeId peer) {
  if (links_.admit(link, peer, false)) transport_->admit(link);
}

void Van::admit_visitor(LinkId link, NodeId peer) {
  if (links_.admit(link, peer, true)) transport_->admit(link);
}

void Van::close(LinkId id) {
  owner_.check_if_owned();
  const LinkState* link = links_.find(id);
  if (link == nullptr) return;
  const LinkId carrier = link->carrier;
  forget(id);
  if (carrier != 0) transport_->close(carrier);
}

void Van::shut() {
  owner_.end();
  while (!links_.empty()) close(links_.first());
  waker_->silence();  // Before the transport ends: leases that end with it wake.
  transport_.reset();
}

void Van::refuse(LinkId id, const Status& why) {
  owner_.check_if_owned();
  LinkState* link = links_.find(id);
  if (link == nullptr) return;
  send_control(id, control::Fault{.why = why});
  ++counters_.refused;
  links_.refuse(id, *link, clock_.now());
}

bool Van::is_open(LinkId id) const {
  const LinkState* link = links_.find(id);
  return link != nullptr && link->admitted && !link->closing;
}

void Van::on_broken(LinkId carrier, Status why) {
  const auto [id, link] = links_.carried_by(carrier);
  if (link == nullptr) return mender_.on_broken(carrier);
  lose(id, *link, why);
}

void Van::lose(LinkId id, LinkState& link, const Status& why) {
  if (!mender_.part(id, link, why)) drop(id, why);
}

void Van::drop(LinkId id, const Status& why) {
  const LinkState* link = links_.find(id);
  if (link == nullptr) return;
  const bool known = link->greeted && !link->closing;
  if (known && !link->visits && link->carrier != 0) ++counters_.breaks;
  close(id);
  if (known) handler_->on_broken(id, why);
}

void Van::forget(LinkId id) {
  mender_.forget(id);
  out_.remove_link(id);
  trace_.forget(id);
  links_.remove(id);
}

void Van::expire() {
  for (const LinkId id : links_.unsettled().expired(clock_.now())) {
    const LinkState* link = links_.find(id);
    if (link == nullptr) continue;  // The handler closed it meanwhile.
    const bool member = link->admitted;
    if (member && !link->visits) ++counters_.breaks;
    close(id);
    if (member) handler_->on_broken(id, {Code::kLinkBroken, "it was refused for what it sent"});
  }
}

void Van::mend() {
  if (mender_.next_due() > clock_.now()) return;
  for (const PartedSessions::Lost& lost : mender_.lost()) drop(lost.session, lost.why);
  mender_.connect();
}

// ---- a turn

void Van::step(Handler& handler, Duration wait) {
  owner_.check();
  handler_ = &handler;
  out_.look_at_waits();
  out_.settle_all();
  pump();
  trace_.rests();
  transport_->poll(*this, wait);
  trace_.wakes();
  out_.settle_all();
  pump();
  expire();
  mend();
  handler_ = nullptr;
}

Time Van::next_due() const {
  if (queue().backlog().stirred()) return clock_.now();
  return std::min(
      {trace_.next_pulse(), out_.next_due(), links_.unsettled().next_look(), mender_.next_due()});
}

void Van::pump() {
  unanswered_bytes_ = 0;
  out_.pump(*handler_);
}

void Van::on_frame(LinkId carrier, wire::HeaderView bytes, Buffer payload) {
  auto [id, link] = links_.carried_by(carrier);
  if (link == nullptr) {
    if (const auto ended = mender_.on_answer(carrier, bytes, payload)) {
      drop(ended->session, ended->why);
    }
    return;
  }
  if (link->closing) return;
  const std::size_t bytes_taken = payload.size();
  const Status status = in_.receive(id, *link, bytes, std::move(payload), *handler_);
  link = links_.find(id);  // Handlers close links.
  if (status.code() == Code::kRefused) {
    refuse(id, status);
  } else if (!status.ok()) {
    ++counters_.refused;
    if (link != nullptr) lose(id, *link, status);
  } else {
    mender_.progressed(id);
  }
  link = links_.find(id);
  const bool at_once = link != nullptr && link->session.owed().credit_at_once();
  if (at_once) out_.settle(id, *link);
  // Small frames are answered together, once they make a slice; the last at the end of the turn.
  unanswered_bytes_ += wire::kHeaderBytes + bytes_taken;
  if (at_once || unanswered_bytes_ >= kBatchBytes) pump();
}

}  // namespace stretto
