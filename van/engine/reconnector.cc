// SPDX-License-Identifier: Apache-2.0
// Opens a link, checks a claim, resumes a session.
#include "van/engine/reconnector.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>

#include "common/log.h"
#include "common/token.h"
#include "van/control/control_codec.h"
#include "van/control/handshake.h"
#include "van/engine/van.h"
#include "van/wire/frame_checksum.h"

namespace stretto {
namespace {

constexpr Duration kLookAtAnswersEvery = 100ms;
constexpr Duration kCalls = 1s;  // The whole hello may take some seconds.

// A member's link broke. A cause at this end may silence its idle links as well, so traffic on them
// reveals that to the scheduler. The link to the scheduler is skipped: it carries no large packets.
void probe_idle_links(const Sender::Parts& parts, Sender& sender) {
  std::vector<LinkId> idle;
  bool is_member = false;
  parts.links.for_each([&](LinkId id, const LinkState& link) {
    const bool to_scheduler = link.session.peer() == kSchedulerNode;
    is_member = is_member || to_scheduler;
    const Session& session = link.session;
    const bool carries = link.admitted && link.carrier != 0 && !link.closing && !link.visits;
    const bool greeted = session.received() != 0 && session.far_received() != 0;
    const bool is_idle = !session.awaits_word() && sender.queue().waiting(id) == 0;
    if (carries && greeted && is_idle && session.outlives() && !to_scheduler) {
      idle.push_back(id);
    }
  });
  if (!is_member) return;
  const Buffer probe =
      control::encode(control::LinkReport{.cause = std::string(kPathProofBytes, '.')});
  for (const LinkId id : idle) sender.queue_control(id, probe);
}

}  // namespace

// Only the two ends of a session know its name. Nothing depends on the value, so a simulated job is
// the same for all names.
std::uint64_t Reconnector::new_name(LinkId link) const {
  if (!parted_.has_patience() || parts_.transport.ends_with_process(link)) return 0;
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

bool Reconnector::part(LinkId id, LinkState& link, const Status& why) {
  // An unanswered hello is retransmitted: the peer may not have received it.
  const bool calls = link.ours && !link.admitted && link.session.received() == 0;
  const bool lasts = link.session.outlives() && (link.admitted || calls) && !link.visits &&
                     !link.closing && link.awaited != Return::kNone;
  const bool silent = why.code() == Code::kTimeout;
  const bool mendable = why.code() == Code::kLinkBroken || (silent && !calls) ||
                        (why.code() == Code::kMalformed && calls);  // Corrupted before encryption.
  if (!lasts || !parted_.has_patience() || !mendable) return false;
  if (calls) parted_.failed(link.carrier, false, parts_.clock.now());
  next_look_ = {};
  look_at_answers();
  // If the second link is silent too, the session has timed out.
  const Duration unanswered = parts_.clock.now() - link.answered;
  const ReconnectTimeouts& limits = parted_.limits();
  if (silent && parted_.has(id) && limits.path > 0s && unanswered >= 2 * limits.path) return false;
  parts_.transport.close(link.carrier);
  parts_.links.carry(id, 0);
  sender_.rest(id);
  const Duration patience = calls ? std::min(limits.patience, std::min(limits.brief, kCalls) * 2)
                                  : patience_for(link, silent);
  parted_.part(id, link.ours, why, patience, parts_.clock.now());
  ++parts_.counters.breaks;
  if (!silent && link.admitted) news_[link.session.peer()] = true;
  if (link.admitted) probe_idle_links(parts_, sender_);
  return true;
}

// A silent path says nothing about the peer.
Duration Reconnector::patience_for(const LinkState& link, bool silent) const {
  const ReconnectTimeouts& limits = parted_.limits();
  const bool goes = link.awaited == Return::kBrief || link.awaited == Return::kUnlessEnded;
  if (goes && !link.ours && !silent) return std::min(limits.brief, limits.patience);
  if (limits.silence == Duration::max()) return limits.patience;
  Duration lasted = parts_.clock.now() - link.answered;
  if (silent) lasted = std::max(lasted, limits.path);
  return std::clamp(limits.silence - lasted, 2 * limits.brief, limits.patience);
}

void Reconnector::look_at_answers() {
  const Time now = parts_.clock.now();
  if (now < next_look_) return;
  next_look_ = now + kLookAtAnswersEvery;
  parts_.links.for_each([now](LinkId, LinkState& link) {
    const std::uint64_t answers = link.session.far_received();
    if (std::exchange(link.answers, answers) != answers || !link.session.awaits_word()) {
      link.answered = now;
    }
  });
}

void Reconnector::await(LinkId id, LinkState& link, Return what) {
  link.awaited = what;
  if (what == Return::kNone) return parted_.give_up(id);
  if (link.ours || !parted_.has(id)) return;
  if (what == Return::kBrief) parted_.wait_for(id, patience_for(link, false));
  if (what == Return::kFull) parted_.wait_for(id, parted_.limits().patience);
}

void Reconnector::note_progress(LinkId id) {
  const LinkState* link = parts_.links.find(id);
  if (link != nullptr && link->session.caught_up()) parted_.remove(id);
}

void Reconnector::forget(LinkId id) {
  const LinkId attempt = parted_.attempt_of(id);
  const bool carries = parts_.links.carried_by(attempt).link != nullptr;  // Its owner closes it.
  if (attempt != 0 && !carries) parts_.transport.close(attempt);
  parted_.remove(id);
  if (const LinkState* link = parts_.links.find(id)) news_.erase(link->session.peer());
}

void Reconnector::carry_on(LinkId session, LinkState& link, LinkId carrier) {
  parts_.links.carry(session, carrier);
  const std::optional<PartedSessions::Apart> apart = parted_.join(session);
  const Time now = parts_.clock.now();
  log(Level::kInfo, "the link to {} was made anew {:.0f} ms after it had ended: {}",
      parts_.links.name_of(link.session.peer()), apart ? seconds(now - apart->since) * 1e3 : 0.0,
      apart ? apart->why.cause() : "the far end has found out, and this end had not");
  link.answers = link.session.far_received();  // Received before the reconnect.
  sender_.send_again(session);
  // If everything has arrived already, the link may stay idle: no later frame shows progress.
  note_progress(session);
  ++parts_.counters.mended;
  if (!apart) probe_idle_links(parts_, sender_);
  news_[link.session.peer()] = false;
}

// ---- the end that opened the first link

void Reconnector::connect() {
  for (const LinkId attempt : parted_.late(parts_.clock.now())) {
    parts_.transport.close(attempt);
    if (const auto [id, link] = parts_.links.carried_by(attempt); link != nullptr) {
      parts_.links.carry(id, 0);
      sender_.rest(id);
    }
    parted_.failed(attempt, false, parts_.clock.now());
  }
  for (const LinkId id : parted_.to_connect(parts_.clock.now())) {
    LinkState* link = parts_.links.find(id);
    STRETTO_CHECK(link != nullptr);
    if (link->closing) continue;
    const Result<LinkId> attempt = parts_.transport.connect(link->address);
    // An admitted session retries; a connecting caller gets the error of this process.
    if (!attempt.ok() && !link->admitted) parted_.give_up(id, attempt.status());
    if (!attempt.ok()) continue;
    if (!link->admitted) {
      call_again(id, *link, *attempt);
      continue;
    }
    parted_.attempted(id, *attempt);
    const bool to_scheduler = link->session.peer() == kSchedulerNode;
    const control::Resume claim{.protocol = wire::kProtocol,
                                .token = link->token,
                                .session = link->session.name(),
                                .link = ++link->links,
                                .received = link->session.received(),
                                .padding = to_scheduler ? 0 : kPathProofBytes};
    const Transport::Sent sent =
        sender_.greet(*attempt, control::encode(claim), link->gives_checksums);
    if (sent == Transport::Sent::kFull) {
      parts_.transport.close(*attempt);
      parted_.attempted(id, 0);
    }
  }
}

// Once the link is open, the peer answers when it can, and the connecting caller waits.
std::vector<PartedSessions::Lost> Reconnector::lost() {
  for (const auto& [id, attempt] : parted_.attempts()) {
    const LinkState* link = parts_.links.find(id);
    const bool carries = link != nullptr && link->carrier == attempt;
    if (carries && (link->admitted || parts_.transport.is_made(attempt))) parted_.join(id);
  }
  return parted_.lost(parts_.clock.now());
}

// The hello is the session's only frame; it is retransmitted with the session's name. An answer
// that was sent before is retransmitted.
void Reconnector::call_again(LinkId id, LinkState& link, LinkId carrier) {
  const Status nothing_came = link.session.take_over(0);
  STRETTO_CHECK(nothing_came.ok());
  parts_.links.carry(id, carrier);
  parted_.attempted(id, carrier);
  sender_.send_again(id);
}

Status Reconnector::take(LinkId session, LinkState& link, LinkId attempt, wire::HeaderView bytes,
                         const Buffer& payload) {
  Status whole = wire::verify_checksum(bytes, payload.bytes(), link.gets_checksums);
  if (!whole.ok()) {
    note_corrupted(link, parts_.links, parts_.counters, parts_.clock.now());
    return whole;
  }
  const Result<wire::Header> header = wire::decode(bytes, payload.size());
  if (!header.ok()) return header.status();
  if (header->kind != wire::Kind::kControl || header->sequence != 1) {
    return {Code::kMalformed, "a new link's first frame is no answer"};
  }
  const Result<control::Message> message = control::decode(payload);
  if (!message.ok()) return message.status();
  if (control::is<control::Fault>(*message)) return std::get<control::Fault>(*message).why;
  if (!control::is<control::Resumed>(*message) || header->sender != link.session.peer()) {
    return {Code::kMalformed,
            fmt::format("a new link to {} was answered by {}, and not as was asked",
                        parts_.links.name_of(link.session.peer()),
                        parts_.links.name_of(header->sender))};
  }
  Status status = link.session.take_over(std::get<control::Resumed>(*message).received);
  if (status.ok()) carry_on(session, link, attempt);
  return status;
}

std::optional<Reconnector::Ended> Reconnector::on_answer(LinkId attempt, wire::HeaderView bytes,
                                                         const Buffer& payload) {
  const LinkId session = parted_.attempted_by(attempt);
  LinkState* link = parts_.links.find(session);
  if (link == nullptr || link->closing) return std::nullopt;
  const Status status = take(session, *link, attempt, bytes, payload);
  if (status.ok()) return std::nullopt;
  if (status.code() == Code::kLinkBroken) {  // Corrupted: the attempt is retried.
    parts_.transport.close(attempt);
    on_broken(attempt, status);
    return std::nullopt;
  }
  return Ended{session, status};
}

// ---- the accepting end

Status Reconnector::check(const LinkState* link, NodeId node, const control::Resume& claim) const {
  if (claim.protocol != wire::kProtocol) {
    return {Code::kRefused, fmt::format("a session of protocol {}, this side speaks {}",
                                        claim.protocol, wire::kProtocol)};
  }
  if (!parted_.has_patience()) {
    return {Code::kRefused, "sessions do not outlive their links here"};
  }
  if (link == nullptr || link->closing || !link->admitted || link->ours ||
      link->session.peer() != node || !same_token(claim.token, link->token)) {
    return {Code::kRefused, "there is no such session; it may have ended"};
  }
  if (claim.link <= link->links) {
    return {Code::kRefused,
            fmt::format("link {} of a session came after its link {}", claim.link, link->links)};
  }
  return {};
}

// Only the two ends of a session know its name.
std::optional<Status> Reconnector::on_call(LinkId carrier, const control::Hello& hello) {
  const LinkId id = parts_.links.named(hello.session);
  if (id == 0 || !has_patience()) return std::nullopt;
  LinkState& link = *parts_.links.find(id);
  if (link.ours || !same_token(hello.token, link.token)) {
    return Status(Code::kRefused, "another session has that name");
  }
  if (link.closing) {  // It was refused, and may not have received the reason.
    link.session.outlive(0);
    return std::nullopt;
  }
  if (Status status = link.session.take_over(0); !status.ok()) {
    return Status(Code::kRefused, "a hello came again in a session that has been answered");
  }
  take_from(carrier, id, link);
  if (link.admitted) {
    carry_on(id, link, carrier);
  } else {
    parts_.links.carry(id, carrier);
    sender_.send_again(id);  // Takes effect later; nothing has been sent.
  }
  return Status();
}

// The previous link may be broken without an event at this end.
void Reconnector::take_from(LinkId carrier, LinkId id, const LinkState& link) {
  if (link.carrier != 0) {
    parts_.transport.close(link.carrier);
    sender_.rest(id);
  }
  sender_.remove_link(carrier);
  parts_.links.remove(carrier);  // It was a pending connection.
  parts_.transport.admit(carrier);
}

Status Reconnector::on_resume(LinkId carrier, NodeId node, const control::Resume& claim) {
  const LinkId id = parts_.links.named(claim.session);
  LinkState* link = parts_.links.find(id);
  if (Status status = check(link, node, claim); !status.ok()) return status;
  if (Status status = link->session.take_over(claim.received); !status.ok()) {
    return {Code::kRefused, status.cause()};
  }
  link->links = claim.link;
  take_from(carrier, id, *link);
  const control::Resumed answer{.received = link->session.received(), .padding = claim.padding};
  sender_.greet(carrier, control::encode(answer), link->gives_checksums);
  carry_on(id, *link, carrier);
  return {};
}

}  // namespace stretto
