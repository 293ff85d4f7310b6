// SPDX-License-Identifier: Apache-2.0
// Path of an incoming frame: decoded, checked, counted, delivered.
#include "van/engine/receiver.h"

#include <fmt/core.h>

#include "van/control/control_codec.h"
#include "van/control/handshake.h"
#include "van/wire/frame_checksum.h"

namespace stretto {
namespace {

// The receiver of such a message leaves, over a link that it opened.
bool is_farewell(const control::Message& message) {
  return control::is<control::Leave>(message) || control::is<control::Failure>(message);
}

// Its only purpose is to prove that large packets arrive (Reconnector).
bool is_probe(const control::Message& message) {
  const auto* report = std::get_if<control::LinkReport>(&message);
  return report != nullptr && report->node == 0;
}

bool is_data(wire::Kind kind) {
  return kind != wire::Kind::kControl && kind != wire::Kind::kCredit;
}

}  // namespace

Status Receiver::receive(LinkId id, LinkState& link, wire::HeaderView bytes, Buffer payload,
                         FrameHandler& handler) {
  ++parts_.counters.frames_in;
  if (Status status = verify(link, bytes, payload); !status.ok()) return status;
  Result<wire::Header> header = wire::decode(bytes, payload.size());
  if (!header.ok()) return header.status();
  header->flags = static_cast<std::uint16_t>(header->flags & ~wire::kChecksummed);
  if (Status status = accept(id, link, *header); !status.ok()) return status;
  return take(id, link, *header, std::move(payload), handler);
}

// A peer gives all its frames a checksum or none: after the first one, all frames need it.
Status Receiver::verify(LinkState& link, wire::HeaderView bytes, const Buffer& payload) {
  Status status = wire::verify_checksum(bytes, payload.bytes(), link.gets_checksums);
  if (!status.ok()) {
    note_corrupted(link, parts_.links, parts_.counters, parts_.clock.now());
  } else if (!link.gets_checksums) {
    link.gets_checksums = wire::has_checksum(bytes);
  }
  return status;
}

// Conditions for every frame before any effect.
Status Receiver::check(const LinkState& link, const wire::Header& header) const {
  const Session& session = link.session;
  if (!link.admitted && header.kind != wire::Kind::kControl) {
    return {Code::kMalformed, "the link's first frame is not a hello"};
  }
  if (link.admitted && header.sender != session.peer()) {
    return {Code::kMalformed,
            fmt::format("a frame says it is from {}, the link is that of {}",
                        parts_.links.name_of(header.sender), parts_.links.name_of(session.peer()))};
  }
  if (Status status = session.check_order(header); !status.ok()) return status;
  if (is_data(header.kind) && header.epoch < fence_) {
    return {Code::kRefused, fmt::format("a frame of epoch {} came, epochs before {} are over",
                                        header.epoch, fence_)};
  }
  return session.check_told(header);
}

Status Receiver::accept(LinkId id, LinkState& link, const wire::Header& header) {
  if (Status status = check(link, header); !status.ok()) return status;
  if (!sender_.queue().windows().credited(id, header.credit)) {
    return {Code::kMalformed,
            fmt::format("{} bytes are credited, more than were sent", header.credit)};
  }
  if (header.kind == wire::Kind::kCredit) {
    sender_.pacer().hear(id, header, parts_.clock.now());
  }
  if (link.session.note_received(header)) {
    sender_.pacer().on_credit(id, header.credit, parts_.clock.now(),
                              [&] { return parts_.transport.round_trips(link.carrier); });
  }
  return {};
}

Status Receiver::take(LinkId id, LinkState& link, const wire::Header& header, Buffer payload,
                      FrameHandler& handler) {
  if (is_data(header.kind)) {
    link.session.owed().take(wire::kHeaderBytes + payload.size(),
                             (header.flags & wire::kCreditNow) != 0);
    parts_.counters.data_bytes_in += payload.size();
    sender_.note_owed(id, link);
    sender_.pacer().on_data(id, wire::kHeaderBytes + payload.size(), header.priority,
                            (header.flags & wire::kUrgent) != 0, parts_.clock.now());
  }
  if (header.kind == wire::Kind::kControl && link.session.outlives()) {
    link.session.owed().hear();
    sender_.note_owed(id, link);
  }
  if (!take_acks(id, link, header.acked, handler)) return {};
  if (header.kind == wire::Kind::kControl) return take_control(id, link, header, payload, handler);
  const bool slice = header.kind == wire::Kind::kMore || header.total != 0;
  if (slice && slices_.assembles) {
    return take_slice(id, link, header, payload, handler);
  }
  if (is_data(header.kind)) deliver(id, header, std::move(payload), handler);
  return {};
}

// False if the handler has closed the link.
bool Receiver::take_acks(LinkId id, LinkState& link, std::uint64_t acked, FrameHandler& handler) {
  while (const std::optional<wire::PushTag> push = link.session.take_acked(acked)) {
    handler.on_acked(id, *push);
    if (parts_.links.find(id) == nullptr) return false;
  }
  return true;
}

// Before admission only a handshake message is decoded. An accepted hello comes from a member,
// which may have to wait for admission.
Status Receiver::take_control(LinkId id, LinkState& link, const wire::Header& header,
                              const Buffer& payload, FrameHandler& handler) {
  if (!link.admitted) {
    if (Status status = check_unadmitted(payload.bytes(), link.ours); !status.ok()) return status;
  }
  const Result<control::Message> message = control::decode(payload);
  if (!message.ok()) return message.status();
  const auto* claim = std::get_if<control::Resume>(&*message);
  if (claim != nullptr && !link.greeted) return mender_.on_resume(id, header.sender, *claim);
  if (claim != nullptr && !link.admitted) {
    return {Code::kMalformed, "a link is claimed after its hello"};
  }
  if (is_probe(*message)) return {};
  const auto* hello = std::get_if<control::Hello>(&*message);
  if (hello != nullptr && link.greeted) return {Code::kMalformed, "a second hello came"};
  if (hello != nullptr) {
    if (std::optional<Status> again = mender_.on_call(id, *hello)) return *std::move(again);
  }
  if (hello != nullptr && mender_.has_patience()) {
    link.token = hello->token;
    link.session.outlive(hello->session);
  }
  if (link.ours && link.session.outlives() && is_farewell(*message)) {
    link.session.owed().hear_farewell();
  }
  parts_.links.greet(id, link);
  handler.on_control(id, *message);
  if (hello == nullptr) return {};
  const LinkState* greeted = parts_.links.find(id);
  if (greeted != nullptr && !greeted->closing) parts_.transport.admit(id);
  return {};
}

Status Receiver::take_slice(LinkId id, LinkState& link, const wire::Header& header,
                            const Buffer& payload, FrameHandler& handler) {
  Reassembly& assembly = link.session.assembly();
  const auto landing = [id, &handler](const wire::Header& whole) {
    return handler.landing(id, whole);
  };
  const auto allocate = [this, &assembly](std::size_t bytes) {
    const std::uint64_t held = assembly.held_bytes();
    const bool too_much = held > 0 && held + bytes > slices_.most_begun_bytes;
    return too_much ? Buffer() : parts_.transport.allocate(bytes);
  };
  Result<std::optional<Reassembly::Whole>> whole =
      assembly.take(header, payload, landing, allocate);
  if (!whole.ok()) return whole.status();
  parts_.trace.slice_came(id, header);
  if (!whole->has_value()) return {};
  deliver(id, (*whole)->header, std::move((*whole)->payload), handler);
  return {};
}

void Receiver::deliver(LinkId id, const wire::Header& header, Buffer payload,
                       FrameHandler& handler) {
  handler.on_data(id, parts_.trace.came(id, header), std::move(payload));
  parts_.trace.handled();
}

}  // namespace stretto
