// SPDX-License-Identifier: Apache-2.0
// Sending (send, lend, collect), receiving (receive, take), and the end of a link.
#include "van/shm/link.h"

#include <fmt/core.h>

#include <bit>
#include <cstring>

#include "common/check.h"

namespace stretto::shm {
namespace {

using Sent = Transport::Sent;

// Below this size a copy is cheaper than a lease.
constexpr std::size_t kLeastLeased = 512;
// The part of a sender's in-flight limit that receivers may keep: the rest lets it continue.
constexpr std::size_t kKeptPart = 4;
constexpr std::size_t kMostKept = kSlots / kKeptPart;  // Payloads.
constexpr std::size_t kAlignment = 64;
constexpr int kNotesAtOnce = 64;
constexpr int kHearsForChunk = 64;  // In units of kNotesAtOnce.

// A peer may change bytes that are only moved and added: that harms only the round. It must not
// change bytes that are parsed or decoded: a check would hold for other bytes than are used.
bool may_change(const wire::HeaderBytes& bytes) {
  const auto header = std::bit_cast<wire::Header>(bytes);
  const bool is_data = header.kind == wire::Kind::kPush || header.kind == wire::Kind::kValue ||
                       header.kind == wire::Kind::kUp || header.kind == wire::Kind::kDown;
  return is_data && header.codec == 0;
}

}  // namespace

Link::Link(LinkId id, std::shared_ptr<Line> line, const Shared& shared, bool announced)
    : id_(id),
      line_(std::move(line)),
      arena_(shared.arena),
      options_(shared.options),
      copied_(shared.copied),
      bells_(shared.bells),
      announced_(announced),
      lent_(kSlots) {
  free_slots_.reserve(kSlots);
  for (std::uint32_t slot = kSlots; slot > 0; --slot) free_slots_.push_back(slot - 1);
}

// ---- out

Sent Link::send(const wire::Header& header, const Buffer& payload) {
  if (state_ != State::kOpen) return Sent::kBroken;
  if (full_) return Sent::kFull;
  if (ring_is_full()) {
    return state_ == State::kOpen ? refuse_for_now(payload.size()) : Sent::kBroken;
  }
  Entry entry;
  entry.header = wire::encode(header);
  entry.bytes = payload.size();
  if (payload.size() <= kMostInline) {
    if (!payload.empty()) std::memcpy(entry.payload.data(), payload.data(), payload.size());
    copied_.sent += payload.size();
  } else if (!lend(payload, entry)) {
    return state_ == State::kOpen ? refuse_for_now(payload.size()) : Sent::kBroken;
  }
  STRETTO_CHECK(published_ - taken_there_ < kRingFrames);
  line_->write(published_, entry);
  line_->publish(++published_);
  bells_.owe(line_, header.kind, payload.size());
  return Sent::kTaken;
}

Sent Link::refuse_for_now(std::size_t bytes) {
  full_ = true;
  refused_bytes_ = bytes;
  return Sent::kFull;
}

bool Link::ring_is_full() {
  if (published_ - taken_there_ < kRingFrames) return false;
  hear_taken();
  return published_ - taken_there_ == kRingFrames;
}

// Reads how many frames the peer has taken.
void Link::hear_taken() {
  const std::uint64_t taken = line_->taken_there();
  if (taken < taken_there_ || taken > published_) {
    end(State::kBad, {Code::kMalformed, fmt::format("{} frames are said to be taken, {} were sent",
                                                    taken, published_)});
    return;
  }
  taken_there_ = taken;
}

// Puts the payload where the peer can read it. False if that fails, now or for good.
bool Link::lend(const Buffer& payload, Entry& entry) {
  const std::size_t bytes = payload.size();
  std::optional<Arena::Place> place = arena_.find(payload.bytes());
  const std::size_t to_copy = place ? 0 : bytes;
  const auto fits = [&] {
    return !free_slots_.empty() && (to_copy == 0 || copied_in_flight_ == 0 ||
                                    copied_in_flight_ + to_copy <= options_.max_copied_bytes);
  };
  if (!fits()) {
    collect();
    if (!fits()) return false;
  }
  Buffer block = payload;
  if (!place) {
    Result<Buffer> made = arena_.allocate(bytes);
    if (!made.ok()) {
      end(State::kBad, made.status());
      return false;
    }
    std::memcpy(made->writable().data(), payload.data(), bytes);
    copied_.sent += bytes;
    block = *std::move(made);
    place = arena_.find(block.bytes());
  }
  if (!announce_chunks(place->chunk)) return false;
  entry.chunk = place->chunk;
  entry.offset = place->offset;
  entry.slot = free_slots_.back();
  free_slots_.pop_back();
  lent_[entry.slot] = {std::move(block), to_copy};
  copied_in_flight_ += to_copy;
  return true;
}

bool Link::announce_chunks(std::uint32_t last) {
  socket_full_ = false;
  for (; chunks_told_ <= last; ++chunks_told_) {
    const SocketMessage note{.kind = SocketMessage::Kind::kChunk,
                             .number = chunks_told_,
                             .bytes = arena_.bytes_of(chunks_told_)};
    switch (tell(line_->socket(), note, &arena_.descriptor_of(chunks_told_))) {
      case Told::kYes:
        continue;
      case Told::kNotNow:
        socket_full_ = true;
        return false;
      case Told::kGone:
        end(State::kEnding, {Code::kLinkBroken, "the process at the far end has ended"});
        return false;
    }
  }
  return true;
}

// Takes back the payloads that the peer has released.
void Link::collect() {
  if (free_slots_.size() == kSlots) return;
  for (std::uint32_t word = 0; word < kSlots / 64; ++word) {
    for (std::uint64_t bits = line_->take_returned(word); bits != 0; bits &= bits - 1) {
      const std::uint32_t slot = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      if (lent_[slot].block.empty()) {
        end(State::kBad, {Code::kMalformed, "a payload was given back that was not lent"});
        return;
      }
      STRETTO_CHECK(copied_in_flight_ >= lent_[slot].copied && free_slots_.size() < kSlots);
      copied_in_flight_ -= lent_[slot].copied;
      lent_[slot] = {};
      free_slots_.push_back(slot);
    }
  }
}

// Half of every limit, so that a sender does not wake for each frame that has left.
bool Link::has_room() {
  collect();
  hear_taken();
  const bool ring = published_ - taken_there_ <= kRingFrames / 2;
  const bool slots = free_slots_.size() >= kSlots / 2;
  const bool bytes =
      copied_in_flight_ == 0 || (copied_in_flight_ <= options_.max_copied_bytes / 2 &&
                                 copied_in_flight_ + refused_bytes_ <= options_.max_copied_bytes);
  return ring && slots && bytes;
}

bool Link::is_read() {
  if (!gone_) collect();
  return !gone_ && state_ != State::kOpen && free_slots_.size() < kSlots;
}

// ---- in

bool Link::hear(bool past_bells) {
  using What = Received::What;
  for (int i = 0; i < kNotesAtOnce && !gone_; ++i) {
    const Received heard = shm::hear(line_->socket());
    if (heard.what == What::kNothing) return false;
    // Usually the doorbell is the last message; if not, the socket stays readable.
    const bool bell = heard.what == What::kNote && heard.note.kind == SocketMessage::Kind::kBell;
    if (bell && !past_bells) return true;
    if (bell) continue;
    if (heard.what == What::kEnd) {
      gone_ = true;
      end(State::kEnding, {Code::kLinkBroken, "the process at the far end has ended"});
    } else if (heard.what == What::kGarbage || heard.note.kind == SocketMessage::Kind::kHello) {
      end(State::kBad, {Code::kMalformed, "a note came that makes no sense"});
    } else if (heard.note.kind == SocketMessage::Kind::kChunk && delivers()) {
      if (Status status = far_.add(heard.note, heard.memory); !status.ok()) {
        end(State::kBad, std::move(status));
      }
    }
  }
  return !gone_;
}

Turn Link::receive(Transport::Sink& sink, int limit) {
  Turn turn;
  collect();
  if (!announced_ && !over()) {
    announced_ = true;
    turn.called = true;
    sink.on_link(id_);
  }
  if (state_ == State::kOpen && line_->closed_there()) {
    end(State::kEnding, {Code::kLinkBroken, "the far end has closed the link"});
  }
  // Read after the check for the end: frames published before the end are delivered.
  const std::uint64_t published = line_->published_there();
  if (published - taken_ > kRingFrames) {
    end(State::kBad, {Code::kMalformed, fmt::format("{} frames are said to wait, at most {} can",
                                                    published - taken_, kRingFrames)});
  }
  while (delivers() && turn.frames < limit && taken_ != published) {
    ++turn.frames;
    turn.called = deliver_one(sink) || turn.called;
  }
  if (turn.frames > 0) line_->ring_if(Line::kRoom);
  if (state_ == State::kBad || (state_ == State::kEnding && taken_ == published)) {
    report(sink, turn);
  } else if (full_ && state_ == State::kOpen && has_room()) {
    full_ = false;
    turn.called = true;
    sink.on_writable(id_);
  }
  return turn;
}

// False if the frame was malformed.
bool Link::deliver_one(Transport::Sink& sink) {
  const Entry entry = line_->read(taken_);
  Status status = check_entry(entry);
  Result<RemoteArena::View> view = RemoteArena::View{};
  if (status.ok() && entry.is_inline()) {
    view->bytes = std::span(entry.payload).first(entry.bytes);
  } else if (status.ok() && entry.bytes > 0) {
    view = far_.find(entry.chunk, entry.offset, entry.bytes);
    status = view.status();
  }
  if (!status.ok()) {
    end(State::kBad, std::move(status));
    return false;
  }
  line_->note_taken(++taken_);
  Buffer payload = take(entry, *view);
  sink.on_frame(id_, entry.header, std::move(payload));
  return true;
}

Status Link::check_entry(const Entry& entry) {
  if (entry.bytes == 0) return {};
  if (entry.bytes > options_.max_payload_bytes) {
    return {Code::kMalformed, fmt::format("a frame of {} bytes came, at most {} are taken",
                                          entry.bytes, options_.max_payload_bytes)};
  }
  if (entry.is_inline() && entry.bytes <= kMostInline) return {};
  if (entry.slot >= kSlots) return {Code::kMalformed, "a frame with payload names no slot"};
  // The chunk was announced before the frame; doorbells may lie ahead of the announcement.
  for (int i = 0; i < kHearsForChunk && !far_.knows(entry.chunk) && hear(true); ++i) continue;
  return state_ == State::kBad ? why_ : Status();
}

Buffer Link::take(const Entry& entry, const RemoteArena::View& view) {
  if (entry.bytes == 0) return {};
  const bool aligned = entry.offset % kAlignment == 0;
  if (entry.bytes < kLeastLeased || !aligned || !may_change(entry.header)) {
    Buffer copy = Buffer::copy_of(view.bytes);
    copied_.received += entry.bytes;
    if (!entry.is_inline()) line_->give_back(entry.slot);
    return copy;
  }
  // A small payload occupies a whole slot. Charge at least `most / kMostKept` bytes for each leased
  // payload, so that most slots stay free.
  const std::size_t most = options_.max_copied_bytes / kKeptPart;
  const std::size_t cost = std::max<std::size_t>(entry.bytes, most / kMostKept);
  const bool may_last = line_->lease(cost) + cost <= most;
  return Buffer::borrow(
      view.bytes,
      [line = line_, mapping = view.mapping, slot = entry.slot, cost] {
        line->end_lease(slot, cost);
      },
      may_last ? Buffer::Lending::kLasting : Buffer::Lending::kForNow);
}

// ---- waiting, ending

bool Link::has_come() {
  if (state_ == State::kOver) return false;
  if (state_ != State::kOpen || !announced_) return true;
  if (line_->published_there() != taken_ || line_->closed_there()) return true;
  return full_ && (has_room() || state_ != State::kOpen);  // has_room() may have ended it.
}

bool Link::arm() {
  if (state_ == State::kOver) return true;
  line_->wish(Line::kFrames | (full_ ? Line::kRoom : 0U));
  const bool idle = state_ == State::kOpen && announced_ && !line_->closed_there() &&
                    line_->published_there() == taken_;
  return idle && !(full_ && has_room()) && state_ == State::kOpen;  // has_room() may have ended it.
}

void Link::end(State state, Status why) {
  const bool worse = state_ == State::kOpen || (state_ == State::kEnding && state == State::kBad);
  if (!worse) return;
  state_ = state;
  why_ = std::move(why);
}

void Link::report(Transport::Sink& sink, Turn& turn) {
  close();
  turn.called = true;
  sink.on_broken(id_, std::move(why_));
}

void Link::close() {
  if (std::exchange(state_, State::kOver) == State::kOver) return;
  line_->say_closed();
}

}  // namespace stretto::shm
