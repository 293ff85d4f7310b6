// SPDX-License-Identifier: Apache-2.0
// The Van's path of a frame, out (stamp, pump) and in (accept, take).
#include "van/van.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/check.h"
#include "van/messages.h"

namespace stretto {
namespace {

constexpr Duration kCreditDelay = 1ms;  // Longest that credit waits for a frame to ride on.
constexpr Duration kHeldBack = 1ms;     // Until it is looked again whether others have made room.
constexpr std::size_t kBatchBytes = 16 << 10;        // Taken before what they led to is sent.
constexpr std::size_t kMostNested = 2;               // Frames that interrupt one another,
constexpr std::uint64_t kLargestNested = 512 << 10;  // and those up to this are not begun in vain.

bool may_come_before_admission(const wire::Control& message, bool ours) {
  return ours ? message.has_welcome() || message.has_fault() : message.has_hello();
}

bool is_data(wire::Kind kind) {
  return kind != wire::Kind::kControl && kind != wire::Kind::kCredit;
}

}  // namespace

std::uint64_t time_left(Time deadline, Time now) {
  if (deadline == Time::max()) return 0;
  if (deadline <= now) return 1;
  return static_cast<std::uint64_t>(
      std::chrono::ceil<std::chrono::microseconds>(deadline - now).count());
}

Van::Van(std::unique_ptr<Transport> transport, const Clock& clock)
    : transport_(std::move(transport)),
      waker_(std::make_shared<Waker>(*transport_)),
      clock_(clock),
      queue_(0, 0) {
  const JobSettings defaults;
  set_windows(defaults.link_window_bytes, defaults.total_window_bytes);
  queue_.set_nesting({kMostNested, kLargestNested});
}

Van::~Van() { waker_->silence(); }

void Van::set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes) {
  queue_.windows().set(link_window_bytes, total_window_bytes);
  pacer_.set_limit(total_window_bytes);
  credit_step_bytes_ = link_window_bytes / 4;
}

void Van::set_epoch(std::uint32_t epoch, std::uint32_t fence) {
  epoch_ = epoch;
  fence_ = fence;
}

void Van::send(LinkId link, const wire::Header& header, Buffer payload, const Terms& terms) {
  Frame frame;
  frame.header = header;
  frame.payload = std::move(payload);
  frame.deadline = terms.deadline;
  frame.tag = terms.tag;
  frame.bulk = terms.bulk;
  queue_.push(link, trace_.queued(std::move(frame)));
  unsent_ = true;
}

Time Van::deadline_in(std::uint64_t microseconds) const {
  constexpr std::uint64_t kMost = 1'000'000ULL * 3600 * 24;
  if (microseconds == 0 || microseconds > kMost) return Time::max();
  return clock_.now() + std::chrono::microseconds(microseconds);
}

std::vector<wire::Key> Van::cancel(std::uint64_t tag) {
  unsent_ = true;
  return queue_.cancel(tag);
}

void Van::set_urgency(std::uint64_t tag, const Urgency& urgency) {
  queue_.set_urgency(tag, urgency);
}

void Van::resume(std::uint64_t tag) {
  queue_.resume(tag);
  unsent_ = true;
}

void Van::send_control(LinkId link, const wire::Control& message) {
  send_control(link, serialize(message));
}

void Van::send_control(LinkId link, Buffer message) {
  Frame frame;
  frame.header.kind = wire::Kind::kControl;
  frame.payload = std::move(message);
  queue_control(link, std::move(frame));
}

// What has been applied by now, and not what will have been when the frame leaves: a fault of a
// push that waits behind it must come before an ack of later pushes, which includes that one.
void Van::queue_control(LinkId id, Frame frame) {
  auto found = links_.find(id);
  if (found == links_.end()) return;
  frame.header.acked = found->second.acked;
  queue_.push_control(id, std::move(frame));
  unsent_ = true;
}

void Van::ack(LinkId id, std::uint64_t push_sequence, bool at_once) {
  auto found = links_.find(id);
  if (found == links_.end()) return;
  found->second.acked = std::max(found->second.acked, push_sequence);
  found->second.ack_at_once |= at_once;
  note_owed(id, found->second);
}

void Van::step(Handler& handler, Duration wait) {
  if (owner_ == std::thread::id()) owner_ = std::this_thread::get_id();
  STRETTO_CHECK(owner_ == std::this_thread::get_id());
  handler_ = &handler;
  if (paced_) pacer_.set_own_wait(waits_.look(clock_));
  settle_debts();
  pump();
  trace_.rests();
  transport_->poll(*this, wait);
  trace_.wakes();
  settle_debts();
  pump();
  expire_strangers();
  handler_ = nullptr;
}

Time Van::next_due() const {
  if (unsent_) return clock_.now();
  Time due = trace_.next_pulse();
  if (!owing_.empty()) due = owing_.front().second + kCreditDelay;
  if (pacer_.held_back()) due = std::min(due, clock_.now() + kHeldBack);
  if (strangers_ > 0 || refused_ > 0) due = std::min(due, next_expiry_);
  return due;
}

// ---- out

wire::Header Van::stamp(Link& link, const SendQueue::Pick& pick, Time now) {
  const Frame& frame = *pick.frame;
  wire::Header header = frame.header;
  const bool abandoned = (header.flags & wire::kAbandoned) != 0;
  header.bytes = pick.bytes;
  if (pick.offset > 0) {
    header = wire::MoreFrame{.key = frame.header.key,
                             .first_sequence = frame.first_sequence,
                             .offset = abandoned ? 0 : pick.offset,
                             .abandoned = abandoned,
                             .priority = frame.header.priority}
                 .header();
    header.bytes = pick.bytes;
  }
  if (pick.offset > 0 || !pick.last) {
    header.total = static_cast<std::uint32_t>(frame.payload.size());
  }
  header.magic = wire::kMagic;
  header.protocol = wire::kProtocol;
  header.sender = node_;
  header.epoch = epoch_;
  header.sequence = link.sent_sequence + 1;
  header.credit = link.taken_bytes;
  if (!pick.control) header.acked = link.acked;
  if (header.kind == wire::Kind::kCredit) pacer_.tell(pick.link, header);
  // Applied in the order in which they end, so they are numbered so.
  const bool push_ends = frame.header.kind == wire::Kind::kPush && pick.last && !abandoned;
  header.push_sequence = push_ends ? link.push_sequence + 1 : 0;
  header.deadline = time_left(frame.deadline, now);
  if (!pick.control && pacer_.wants_credit(pick.link, pick.charge())) {
    header.flags = static_cast<std::uint16_t>(header.flags | wire::kCreditNow);
  }
  return header;
}

void Van::pump() {
  unsent_ = false;
  unanswered_bytes_ = 0;
  if (queue_.waiting() == 0) return;
  const Time now = clock_.now();
  trace_.saw(now);
  pacer_.on_time(now);
  while (auto pick = pacer_.next(now)) {
    Link& link = links_.at(pick->link);
    const wire::Header header = stamp(link, *pick, now);
    const Buffer& payload = pick->frame->payload;
    const bool whole = pick->bytes == payload.size();
    trace_.leaves();
    switch (transport_->try_send(pick->link, header,
                                 whole ? payload : payload.slice(pick->offset, pick->bytes))) {
      case Transport::Sent::kTaken:
        break;
      case Transport::Sent::kFull:
        queue_.full(pick->link);
        continue;
      case Transport::Sent::kBroken:
        queue_.remove_link(pick->link);  // The report follows from poll.
        pacer_.remove_link(pick->link);
        continue;
    }
    note_taken(link, *pick, header, now);
  }
  if (queue_.waiting() > 0) ++counters_.stalls;
}

void Van::note_taken(Link& link, const SendQueue::Pick& pick, const wire::Header& header,
                     Time now) {
  link.sent_sequence = header.sequence;
  link.told_bytes = header.credit;
  link.told_acked = std::max(link.told_acked, header.acked);
  if (pick.offset == 0) pick.frame->first_sequence = header.sequence;
  if (header.push_sequence != 0) {
    link.push_sequence = header.push_sequence;
    link.unacked.emplace_back(header.push_sequence, header.key);
  }
  if (header.kind == wire::Kind::kCredit) {
    link.credit_queued = false;
    if (link.told_acked != link.acked) note_owed(pick.link, link);  // Applied since it was queued.
  }
  ++counters_.frames_out;
  const LinkId id = pick.link;
  const bool data = !pick.control;
  const std::uint64_t left = pick.last ? pick.frame->tag : 0;
  if (data) counters_.data_bytes_out += pick.bytes;
  trace_.left(link.peer, link.marks, pick);
  queue_.taken(pick);
  if (data) pacer_.on_sent(id, pick.charge(), now);
  if (left != 0) handler_->on_left(id, left);
}

void Van::note_owed(LinkId id, Link& link) {
  if (link.owing || !link.admitted) return;
  link.owing = true;
  owing_.emplace_back(id, clock_.now());
}

// Tells what has been taken and applied, where it is much, urgent, or has waited long enough for a
// frame to ride on. True if nothing is owed any more, or a frame that tells it is queued.
bool Van::settle(LinkId id, Link& link, bool late) {
  const bool settled = link.told_bytes == link.taken_bytes && link.told_acked == link.acked;
  if (!settled && !link.credit_queued) {
    const bool much = link.taken_bytes - link.told_bytes >= credit_step_bytes_;
    const bool urgent = (link.ack_at_once && link.told_acked != link.acked) ||
                        (link.credit_at_once && link.told_bytes != link.taken_bytes);
    if (!much && !urgent && !late) return false;
    link.credit_queued = true;
    Frame frame;
    frame.header.kind = wire::Kind::kCredit;
    queue_control(id, std::move(frame));
  }
  link.ack_at_once = false;
  link.credit_at_once = false;
  return true;
}

void Van::settle_debts() {
  if (owing_.empty()) return;
  const Time late = clock_.now() - kCreditDelay;
  std::size_t left = owing_.size();
  for (; left > 0; --left) {
    const auto [id, since] = owing_.front();
    owing_.pop_front();
    auto found = links_.find(id);
    if (found == links_.end()) continue;
    Link& link = found->second;
    if (settle(id, link, since <= late)) {
      link.owing = false;
    } else {
      owing_.emplace_back(id, since);
    }
  }
}

// ---- in

void Van::on_frame(LinkId id, wire::HeaderView bytes, Buffer payload) {
  auto found = links_.find(id);
  if (found == links_.end() || found->second.closing) return;
  Link& link = found->second;
  ++counters_.frames_in;
  const std::size_t bytes_taken = payload.size();
  Result<wire::Header> header = wire::decode(bytes, payload.size());
  Status status = header.status();
  if (status.ok()) status = accept(id, link, *header);
  if (status.ok()) status = take(id, link, *header, std::move(payload));
  if (status.code() == Code::kRefused) {
    refuse(id, status);
  } else if (!status.ok()) {
    ++counters_.refused;
    drop(id, status);
  }
  found = links_.find(id);
  const bool at_once = found != links_.end() && found->second.credit_at_once;
  if (at_once) settle(id, found->second, false);
  // Small frames are answered together, once they make a slice; the last at the end of the turn.
  unanswered_bytes_ += wire::kHeaderBytes + bytes_taken;
  if (at_once || unanswered_bytes_ >= kBatchBytes) pump();
}

// What must hold for every frame before anything is done with it.
Status Van::accept(LinkId id, Link& link, const wire::Header& header) {
  if (!link.admitted && header.kind != wire::Kind::kControl) {
    return {Code::kMalformed, "the link's first frame is not a hello"};
  }
  if (link.admitted && header.sender != link.peer) {
    return {Code::kMalformed, fmt::format("a frame says it is from node {}, the link is node {}'s",
                                          header.sender, link.peer)};
  }
  if (header.sequence != link.received_sequence + 1) {
    return {Code::kLinkBroken, fmt::format("frame {} came after frame {}: frames were lost",
                                           header.sequence, link.received_sequence)};
  }
  if (is_data(header.kind) && header.epoch < fence_) {
    return {Code::kRefused, fmt::format("a frame of epoch {} came, epochs before {} are over",
                                        header.epoch, fence_)};
  }
  if (header.acked > link.push_sequence) {
    return {Code::kMalformed,
            fmt::format("{} pushes are acked, {} were sent", header.acked, link.push_sequence)};
  }
  if (!queue_.windows().credited(id, header.credit)) {
    return {Code::kMalformed,
            fmt::format("{} bytes are credited, more than were sent", header.credit)};
  }
  if (header.kind == wire::Kind::kCredit) pacer_.hear(id, header);
  if (header.credit != std::exchange(link.heard_credit, header.credit)) {
    pacer_.on_credit(id, header.credit, clock_.now());
  }
  link.received_sequence = header.sequence;
  return {};
}

Status Van::take(LinkId id, Link& link, const wire::Header& header, Buffer payload) {
  if (is_data(header.kind)) {
    link.taken_bytes += wire::kHeaderBytes + payload.size();
    counters_.data_bytes_in += payload.size();
    link.credit_at_once |= (header.flags & wire::kCreditNow) != 0;
    note_owed(id, link);
  }
  if (!take_acks(id, link, header.acked)) return {};
  if (header.kind == wire::Kind::kControl) return take_control(id, link, payload);
  if (header.kind == wire::Kind::kMore || header.total != 0) {
    return take_slice(id, link, header, payload);
  }
  if (is_data(header.kind)) deliver(id, header, std::move(payload));
  return {};
}

Status Van::take_slice(LinkId id, Link& link, const wire::Header& header, const Buffer& payload) {
  const auto landing = [this, id](const wire::Header& whole) {
    return handler_->landing(id, whole);
  };
  const auto allocate = [this, &link](std::size_t bytes) {
    const std::uint64_t held = link.assembly.held_bytes();
    const bool too_much = held > 0 && held + bytes > most_begun_bytes_;
    return too_much ? Buffer() : transport_->allocate(bytes);
  };
  Result<std::optional<Assembly::Whole>> whole =
      link.assembly.take(header, payload, landing, allocate);
  if (!whole.ok()) return whole.status();
  trace_.slice_came(id, header);
  if (!whole->has_value()) return {};
  deliver(id, (*whole)->header, std::move((*whole)->payload));
  return {};
}

void Van::deliver(LinkId id, const wire::Header& header, Buffer payload) {
  handler_->on_data(id, trace_.came(id, header), std::move(payload));
  trace_.handled();
}

Status Van::take_control(LinkId id, Link& link, const Buffer& payload) {
  wire::Control message;
  if (Status status = parse(payload, message); !status.ok()) return status;
  if (!link.admitted) {
    if (!may_come_before_admission(message, link.ours)) {
      return {Code::kMalformed, "a control message other than the greeting came before it"};
    }
  }
  if (message.has_hello() && link.greeted) return {Code::kMalformed, "a second hello came"};
  link.greeted = true;
  handler_->on_control(id, message);
  if (message.has_hello()) admit_greeted(id);
  return {};
}

// A hello that was not refused is of one of ours, who may have to wait for its place.
void Van::admit_greeted(LinkId id) {
  const auto found = links_.find(id);
  if (found != links_.end() && !found->second.closing) transport_->admit(id);
}

// False if the handler closed the link meanwhile.
bool Van::take_acks(LinkId id, Link& link, std::uint64_t acked) {
  while (!link.unacked.empty() && link.unacked.front().first <= acked) {
    const wire::Key key = link.unacked.front().second;
    link.unacked.pop_front();
    handler_->on_acked(id, key);
    if (links_.count(id) == 0) return false;
  }
  return true;
}

}  // namespace stretto
