// SPDX-License-Identifier: Apache-2.0
// Path of an outgoing frame: picked, stamped, submitted, noted.
#include "van/engine/sender.h"

#include <algorithm>

#include "common/config/config.h"
#include "van/wire/frame_checksum.h"
#include "van/wire/frame_views.h"

namespace stretto {
namespace {

constexpr std::size_t kMostNested = 2;               // Partial frames that interrupt one another;
constexpr std::uint64_t kLargestNested = 512 << 10;  // the last, if no larger, runs to its end.

bool is_abandoned(const wire::Header& header) { return (header.flags & wire::kAbandoned) != 0; }

// Header of any slice but a frame's first.
wire::Header header_of_more(const SendQueue::Pick& pick) {
  const wire::Header& whole = pick.frame->header;
  const bool abandoned = is_abandoned(whole);
  return wire::ContinuationFrame{.key = whole.key,
                                 .first_sequence = pick.frame->first_sequence,
                                 .offset = abandoned ? 0 : pick.offset,
                                 .abandoned = abandoned,
                                 .priority = whole.priority}
      .header();
}

}  // namespace

std::uint64_t time_left(Time deadline, Time now) {
  if (deadline == Time::max()) return 0;
  if (deadline <= now) return 1;
  return static_cast<std::uint64_t>(
      std::chrono::ceil<std::chrono::microseconds>(deadline - now).count());
}

Time deadline_in(std::uint64_t microseconds, const Clock& clock) {
  constexpr std::uint64_t kMost = 1'000'000ULL * 3600 * 24;
  if (microseconds == 0 || microseconds > kMost) return Time::max();
  return clock.now() + std::chrono::microseconds(microseconds);
}

Sender::Sender(const Parts& parts, bool whole_frames, const host::HostOptions& host,
               Checksums checksums)
    : parts_(parts), queue_(0, 0), host_(host), paced_(!whole_frames), checksums_(checksums) {
  queue_.backlog().set_nesting({kMostNested, kLargestNested});
  const JobSettings defaults;
  set_windows(defaults.link_window_bytes, defaults.total_window_bytes);
}

void Sender::set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes) {
  queue_.windows().set(link_window_bytes, total_window_bytes);
  pacer_.set_limit(total_window_bytes);
  debts_.set_much(link_window_bytes / 4);
}

// Links to this host share no window with others: they use the configured windows.
void Sender::add_link(LinkId id, Time now) {
  queue_.add_link(id);
  LinkState* link = parts_.links.find(id);
  const bool local = parts_.transport.is_local(id);
  if (link != nullptr) {
    link->gives_checksums =
        checksums_ == Checksums::kAll || (checksums_ == Checksums::kBetweenHosts && !local);
  }
  if (!paced_ || local) return;
  pacer_.add_link(id, now);
  host_.join(now);
}

void Sender::remove_link(LinkId id) {
  std::erase(again_, id);
  queue_.remove_link(id);
  pacer_.remove_link(id);
}

// ---- other processes of this host

void Sender::tell_host(Time now) {
  if (host_.must_tell(queue_.waiting() > 0, now)) {
    host_.tell(pacer_.entry(now), now);
  }
}

// ---- reconnect

void Sender::rest(LinkId id) {
  std::erase(again_, id);
  queue_.full(id);
}

void Sender::send_again(LinkId id) {
  LinkState* link = parts_.links.find(id);
  STRETTO_CHECK(link != nullptr);
  queue_.full(id);
  again_.push_back(id);
  note_owed(id, *link);  // Acks sent before may be lost.
}

Transport::Sent Sender::greet(LinkId carrier, const Buffer& message, bool checksum) {
  wire::Header header;
  header.sender = node_;
  header.epoch = epoch_;
  header.sequence = 1;
  header.bytes = static_cast<std::uint32_t>(message.size());
  if (checksum) wire::add_checksum(header, message.bytes());
  return parts_.transport.try_send(carrier, header, message);
}

void Sender::writable(LinkId id) {
  if (std::ranges::count(again_, id) == 0) queue_.writable(id);
}

// False if the link takes no frames now.
bool Sender::has_sent_again(LinkId id) {
  LinkState* link = parts_.links.find(id);
  STRETTO_CHECK(link != nullptr);
  while (const RetransmitBuffer::Kept* kept = link->session.next_again()) {
    wire::Header header = kept->header;
    if (header.kind == wire::Kind::kCredit) pacer_.tell(id, header, parts_.clock.now());
    if (link->gives_checksums) wire::add_checksum(header, kept->payload.bytes());
    if (parts_.transport.try_send(link->carrier, header, kept->payload) !=
        Transport::Sent::kTaken) {
      return false;
    }
    link->session.sent_again(header);
    ++parts_.counters.frames_out;
  }
  queue_.writable(id);
  return true;
}

// ----

// Acks count what is applied now, not when the frame leaves: a fault of a push queued behind it
// must precede an ack of later pushes, which covers that push.
void Sender::queue_control(LinkId id, wire::Kind kind, Buffer message) {
  LinkState* link = parts_.links.find(id);
  if (link == nullptr) return;
  Frame frame;
  frame.header.kind = kind;
  frame.header.acked = link->session.owed().applied();
  frame.payload = std::move(message);
  queue_.push_control(id, std::move(frame));
}

void Sender::settle(LinkId id, LinkState& link) {
  debts_.settle(id, link, false,
                [this](LinkId owed) { queue_control(owed, wire::Kind::kCredit, {}); });
}

void Sender::settle_all() {
  if (debts_.empty()) return;
  debts_.settle_all(parts_.links, parts_.clock.now(),
                    [this](LinkId id) { queue_control(id, wire::Kind::kCredit, {}); });
}

void Sender::look_at_waits(bool has_polled) {
  if (!paced_) return;
  if (!has_polled) return waits_.begin_turn(parts_.clock);
  waits_.end_turn(parts_.clock);
  pacer_.set_own_wait(waits_.typical());
}

Time Sender::next_due() const {
  return std::min(debts_.due(), pacer_.next_look(parts_.clock.now()));
}

wire::Header Sender::stamp(const Session& session, const SendQueue::Pick& pick, Time now) {
  const Frame& frame = *pick.frame;
  wire::Header header = pick.offset > 0 ? header_of_more(pick) : frame.header;
  header.bytes = pick.bytes;
  if (pick.offset > 0 || !pick.last) {
    header.total = static_cast<std::uint32_t>(frame.payload.size());
  }
  header.magic = wire::kMagic;
  header.protocol = wire::kProtocol;
  header.sender = node_;
  header.epoch = epoch_;
  const bool push_ends =
      frame.header.kind == wire::Kind::kPush && pick.last && !is_abandoned(frame.header);
  session.stamp(header, pick.control, push_ends);
  if (header.kind == wire::Kind::kCredit) pacer_.tell(pick.link, header, now);
  header.deadline = time_left(frame.deadline, now);
  if (!pick.control && pacer_.is_urgent(frame)) {
    header.flags = static_cast<std::uint16_t>(header.flags | wire::kUrgent);
  }
  if (!pick.control && pacer_.wants_credit(pick.link, pick.charge())) {
    header.flags = static_cast<std::uint16_t>(header.flags | wire::kCreditNow);
  }
  return header;
}

void Sender::pump(FrameHandler& handler) {
  queue_.backlog().note_looked();
  std::erase_if(again_, [this](LinkId id) { return has_sent_again(id); });
  if (queue_.waiting() == 0) {
    if (host_.has_told()) tell_host(parts_.clock.now());
    return;
  }
  const Time now = parts_.clock.now();
  parts_.trace.saw(now);
  if (host_.is_due(now)) pacer_.set_share(host_.look(pacer_.entry(now), now), now);
  pacer_.on_time(now);
  while (auto pick = pacer_.next(now)) {
    LinkState* link = parts_.links.find(pick->link);
    STRETTO_CHECK(link != nullptr);
    wire::Header header = stamp(link->session, *pick, now);
    const Buffer& payload = pick->frame->payload;
    const bool whole = pick->bytes == payload.size();
    const Buffer slice = whole ? payload : payload.slice(pick->offset, pick->bytes);
    if (link->gives_checksums) wire::add_checksum(header, slice.bytes());
    parts_.trace.leaves();
    switch (parts_.transport.try_send(link->carrier, header, slice)) {
      case Transport::Sent::kTaken:
        break;
      case Transport::Sent::kFull:
        queue_.full(pick->link);
        continue;
      case Transport::Sent::kBroken:
        // poll reports the break.
        if (link->session.outlives()) {
          rest(pick->link);
        } else {
          remove_link(pick->link);
        }
        continue;
    }
    link->session.note_sent(header, slice, pick->frame->header.version);
    note_taken(*link, *pick, header, now, handler);
  }
  if (queue_.waiting() > 0) ++parts_.counters.stalls;
  tell_host(now);
}

void Sender::note_taken(LinkState& link, const SendQueue::Pick& pick, const wire::Header& header,
                        Time now, FrameHandler& handler) {
  Session& session = link.session;
  if (pick.offset == 0) pick.frame->first_sequence = header.sequence;
  // More pushes may have been applied since it was queued.
  if (header.kind == wire::Kind::kCredit && session.owed().acks()) note_owed(pick.link, link);
  ++parts_.counters.frames_out;
  const LinkId id = pick.link;
  const bool data = !pick.control;
  const std::uint64_t left = pick.last ? pick.frame->tag : 0;
  if (data) parts_.counters.data_bytes_out += pick.bytes;
  parts_.trace.left(session.peer(), session.marks(), pick);
  if (data) pacer_.note_urgency(*pick.frame, pick.charge(), now);
  queue_.taken(pick);
  if (data) pacer_.on_sent(id, pick.charge(), now);
  if (left != 0) handler.on_left(id, left);
}

}  // namespace stretto
