// SPDX-License-Identifier: Apache-2.0
// Connects the parts of a Van; queues frames; steps.
#include "van/engine/van.h"

#include <algorithm>

#include "van/control/control_codec.h"
#include "van/engine/transport_events.h"

namespace stretto {

Van::Van(std::unique_ptr<Transport> transport, const Clock& clock, const VanOptions& options)
    : transport_(std::move(transport)),
      waker_(std::make_shared<Waker>(*transport_)),
      clock_(clock),
      out_({*transport_, lives_, trace_, counters_, clock_}, options.whole_frames, options.host,
           options.checksums),
      mender_({*transport_, lives_, trace_, counters_, clock_}, out_, options.limits),
      links_({*transport_, lives_, trace_, counters_, clock_}, out_, mender_),
      in_({*transport_, lives_, trace_, counters_, clock_}, out_, mender_,
          {.most_begun_bytes = options.most_begun_bytes, .assembles = options.assembles}),
      lookout_(options.look_ahead, clock_, *waker_) {}

Van::~Van() { waker_->silence(); }

Result<std::string> Van::listen(std::string_view address) {
  owner_.check_if_owned();
  return transport_->listen(address);
}

void Van::set_epoch(std::uint32_t epoch, std::uint32_t fence) {
  out_.set_epoch(epoch);
  in_.set_fence(fence);
}

void Van::set_dead_after(Duration limit) {
  const ReconnectTimeouts limits = link_limits(limit);
  transport_->set_dead_after(mender_.has_patience() ? limits.path : limit);
  if (mender_.has_patience()) mender_.set_limits(limits);
}

// ---- outgoing frames

void Van::send(LinkId link, const wire::Header& header, Buffer payload, const SendTerms& terms) {
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

void Van::ack(LinkId id, std::uint64_t push_sequence, bool at_once) {
  owner_.check_if_owned();
  LinkState* link = lives_.find(id);
  if (link == nullptr) return;
  link->session.owed().apply(push_sequence, at_once);
  out_.note_owed(id, *link);
}

// ---- steps

void Van::step(Handler& handler, Duration wait, WaitReason awaits) {
  owner_.check();
  out_.look_at_waits(false);
  out_.settle_all();
  handler.before_sending();
  out_.pump(handler);
  trace_.rests();
  TransportEvents arrivals({lives_, links_, mender_, out_, in_, counters_}, handler);
  lookout_.poll(*transport_, arrivals, wait, awaits);
  trace_.wakes();
  out_.look_at_waits(true);
  out_.settle_all();
  handler.before_sending();
  out_.pump(handler);
  links_.expire(handler);
  links_.mend(handler);
}

Time Van::next_due() const {
  if (queue().backlog().stirred()) return clock_.now();
  return std::min(
      {trace_.next_pulse(), out_.next_due(), lives_.unsettled().next_look(), mender_.next_due()});
}

void Van::shut() {
  owner_.check_if_owned();
  owner_.end();
  links_.close_all();
  waker_->silence();  // Before the transport ends: leases that end with it call the waker.
  transport_.reset();
}

}  // namespace stretto
