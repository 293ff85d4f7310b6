// SPDX-License-Identifier: Apache-2.0
// A link is made, a claim is proved, a session goes on.
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
constexpr Duration kCalls = 1s;  // Whoever calls waits for some seconds in all.

// A link of a job's member broke. The cause may be at this end and silence its other links, too,
// which the scheduler then hears; but where nothing is to be sent nothing would show. The link to
// the scheduler is spared: large packets are not due there.
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

// Nobody who was not told can name a session. Nothing else depends on it, so that a simulated job
// is the same whatever the names.
std::uint64_t Reconnector::new_name(LinkId link) const {
  if (!parted_.has_patience() || parts_.transport.ends_with_process(link)) return 0;
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

bool Reconnector::part(LinkId id, LinkState& link, const Status& why) {
  // Who has called and has no answer calls again: the far end may not have heard.
  const bool calls = link.ours && !link.admitted && link.session.received() == 0;
  const bool lasts = link.session.outlives() && (link.admitted || calls) && !link.visits &&
                     !link.closing && link.awaited != Return::kNone;
  const bool silent = why.code() == Code::kTimeout;
  const bool mendable = why.code() == Code::kLinkBroken || (silent && !calls) ||
                        (why.code() == Code::kMalformed && calls);  // Before they are encrypted.
  if (!lasts || !parted_.has_patience() || !mendable) return false;
  if (calls) parted_.failed(link.carrier, false, parts_.clock.now());
  next_look_ = {};
  look_at_answers();
  // A second link is as silent as the first: that is where the session's time ends.
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

// Who only finds the path silent knows nothing of the far end.
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
  const bool carries = parts_.links.carried_by(attempt).link != nullptr;  // Who owns it closes it.
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
  link.answers = link.session.far_received();  // What is told now had come before.
  sender_.send_again(session);
  // If all has come already nothing more need come to show that: it may be silent for long.
  note_progress(session);
  ++parts_.counters.mended;
  if (!apart) probe_idle_links(parts_, sender_);
  news_[link.session.peer()] = false;
}

// ---- the end that made the link before

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
    // One that was admitted is tried again; who calls is to know what this process lacks.
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

// Once that is made its far end answers when it can, and whoever calls waits for it.
std::vector<PartedSessions::Lost> Reconnector::lost() {
  for (const auto& [id, attempt] : parted_.attempts()) {
    const LinkState* link = parts_.links.find(id);
    const bool carries = link != nullptr && link->carrier == attempt;
    if (carries && (link->admitted || parts_.transport.is_made(attempt))) parted_.join(id);
  }
  return parted_.lost(parts_.clock.now());
}

// The hello is the only frame of that session, and goes once more, with the session's name. If it
// has been answered, the answer is sent again.
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
  if (status.code() == Code::kLinkBroken) {  // Corrupted: it is asked again.
    parts_.transport.close(attempt);
    on_broken(attempt, status);
    return std::nullopt;
  }
  return Ended{session, status};
}

// ---- the other end

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

// Its name is known to the two ends of a session alone.
std::optional<Status> Reconnector::on_call(LinkId carrier, const control::Hello& hello) {
  const LinkId id = parts_.links.named(hello.session);
  if (id == 0 || !has_patience()) return std::nullopt;
  LinkState& link = *parts_.links.find(id);
  if (link.ours || !same_token(hello.token, link.token)) {
    return Status(Code::kRefused, "another session has that name");
  }
  if (link.closing) {  // It was refused, and may not have heard why.
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
    sender_.send_again(id);  // From now on; nothing has been sent.
  }
  return Status();
}

// What carried the session before may be broken without our having heard of that.
void Reconnector::take_from(LinkId carrier, LinkId id, const LinkState& link) {
  if (link.carrier != 0) {
    parts_.transport.close(link.carrier);
    sender_.rest(id);
  }
  sender_.remove_link(carrier);
  parts_.links.remove(carrier);  // It came as a stranger.
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
