// SPDX-License-Identifier: Apache-2.0
// Links: handshakes, and how links end.
#include "rpc/node.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"
#include "common/network/address.h"
#include "van/control/handshake.h"

namespace stretto::rpc {
namespace {

constexpr std::uint64_t kLargestSlice = 256 << 10;  // Each endpoint accepts slices of this size.

Status closed() { return {Code::kCancelled, "the endpoint is closed"}; }

}  // namespace

EndpointNode::EndpointNode(Settings settings, const Methods& methods,
                           std::unique_ptr<Transport> transport, const Clock& clock)
    : settings_(std::move(settings)),
      clock_(clock),
      van_(std::move(transport), clock,
           {.limits = link_limits(settings_.dead_after),
            .checksums = settings_.checksums,
            .most_begun_bytes = settings_.max_held_bytes,
            .look_ahead = settings_.look_ahead}),
      caller_(van_, clock, settings_.max_calls),
      callee_(van_, methods,
              {.max_calls = settings_.max_calls, .max_held_bytes = settings_.max_held_bytes}),
      connector_(van_, clock, settings_.token) {
  van_.queue().windows().set_largest_slice(kLargestSlice);
  van_.set_dead_after(settings_.dead_after);
}

// ---- requests of this process

Result<std::string> EndpointNode::listen(std::string_view address) {
  owner_.check();
  if (shutdown_.begun()) return closed();
  return van_.listen(address);
}

void EndpointNode::connect(const std::string& address, Duration timeout, Connected done) {
  owner_.check();
  if (shutdown_.begun()) {
    done(closed());
  } else {
    connector_.connect(address, timeout, std::move(done));
  }
}

void EndpointNode::disconnect(Peer peer) {
  owner_.check();
  if (peers_.count(peer.id()) == 0) return;
  van_.links().close(peer.id());
  lose(peer.id(), {Code::kPeerLost, "the link to it was ended here, by disconnect()"});
}

Caller& EndpointNode::caller() {
  owner_.check();
  return caller_;
}

Callee& EndpointNode::callee() {
  owner_.check();
  return callee_;
}

// ---- events of the van

void EndpointNode::on_control(LinkId link, const control::Message& message) {
  const bool awaited = connector_.awaits(link);
  const bool is_peer = peers_.count(link) != 0;
  STRETTO_CHECK(!(awaited && is_peer));
  const auto* fault = std::get_if<control::Fault>(&message);
  const auto* steer = std::get_if<control::Steer>(&message);
  if (const auto* hello = std::get_if<control::Hello>(&message)) {
    on_hello(link, *hello);
  } else if (control::is<control::Welcome>(message) && awaited) {
    let_in(link, std::string(host_port_of(connector_.address_of(link))));
    connector_.end(link, Peer(link));
  } else if (fault != nullptr && awaited) {
    van_.links().close(link);
    connector_.end(link, fault->why);
  } else if (fault != nullptr && is_peer) {
    van_.links().close(link);
    lose(link, {Code::kPeerLost, "it ended the link: " + fault->why.cause()});
  } else if (steer != nullptr && is_peer) {
    callee_.steer(link, *steer);
  } else {
    turn_out(link, {Code::kMalformed, "endpoints take calls, answers and what steers them"});
  }
}

void EndpointNode::on_hello(LinkId link, const control::Hello& hello) {
  Status status = check_greeting(hello, settings_.token);
  if (status.ok() && hello.role != Role::kEndpoint) {
    status = {Code::kRefused, fmt::format("{} comes as {}, this is an endpoint of RPC, which "
                                          "only endpoints connect to",
                                          hello.host, name_of(hello.role))};
  }
  if (status.ok() && shutdown_.begun()) status = closed();
  if (status.ok() && guests_.size() >= settings_.max_peers) {
    status = {Code::kResource, fmt::format("{} peers have connected, no more are taken; raise "
                                           "Options::max_peers there",
                                           guests_.size())};
  }
  if (!status.ok()) {
    van_.links().refuse(link, status);
    return;
  }
  guests_.insert(link);
  let_in(link, hello.host);
  van_.links().await(link, Return::kBrief);
  van_.send_control(link, control::Welcome{});
}

// Endpoints have no configured identity: the link identifies the peer.
void EndpointNode::let_in(LinkId link, const std::string& name) {
  van_.links().admit(link, 0);
  peers_[link] = name;
  caller_.add_link(link, name);
  callee_.add_link(link);
}

void EndpointNode::on_data(LinkId link, const wire::Header& header, Buffer payload) {
  Status status(Code::kMalformed, "endpoints take calls and answers only");
  if (payload.size() > kMaxMessageBytes) {
    status = {Code::kMalformed, fmt::format("a message of {} bytes came, at most {} are taken",
                                            payload.size(), kMaxMessageBytes)};
  } else if (header.kind == wire::Kind::kCall) {
    status = callee_.on_call(link, header, std::move(payload));
  } else if (header.kind == wire::Kind::kAnswer) {
    status = caller_.on_answer(link, header, std::move(payload));
  }
  if (!status.ok()) turn_out(link, status);
}

// The peer may be slow to see the refusal, so our calls to it end at once.
void EndpointNode::turn_out(LinkId link, const Status& why) {
  van_.links().refuse(link, why);
  lose(link, {Code::kPeerLost, "it was turned out for what it sent: " + why.cause()});
}

void EndpointNode::on_left(LinkId, std::uint64_t tag) {
  caller_.on_left(tag);
  callee_.on_left(tag);
}

void EndpointNode::on_broken(LinkId link, const Status& why) {
  connector_.on_broken(link, why);
  lose(link, why);
}

void EndpointNode::lose(LinkId link, const Status& why) {
  if (peers_.erase(link) == 0) return;
  guests_.erase(link);
  callee_.lose_link(link);
  caller_.lose_link(link, why);
}

// ---- time and the end

void EndpointNode::step(Duration wait) {
  owner_.check();
  if (over()) return;
  van_.step(*this, wait, caller_.in_flight() > 0 ? WaitReason::kAnswers : WaitReason::kCalls);
  connector_.tick();
  caller_.tick();
  if (shutdown_.take_drained(van_.queue().idle(), clock_.now())) close_links();
  shutdown_.on_links_closed(van_.lingers(), clock_.now());
  if (over()) owner_.end();
}

Time EndpointNode::next_due() const {
  if (shutdown_.phase() == Shutdown::Phase::kDraining && van_.queue().idle()) return clock_.now();
  return std::min(
      {van_.next_due(), caller_.next_due(), connector_.next_due(), shutdown_.deadline()});
}

void EndpointNode::close() {
  owner_.check();
  if (shutdown_.begun()) return;
  shutdown_.begin(clock_.now());
  caller_.close(closed());
  callee_.close();
  connector_.end_all(closed());
}

void EndpointNode::abandon() {
  close();
  close_links();
  if (!over()) shutdown_.abandon();
  owner_.end();
}

void EndpointNode::close_links() {
  while (!peers_.empty()) {
    const LinkId link = peers_.begin()->first;
    van_.links().close(link);
    lose(link, closed());
  }
  STRETTO_CHECK(guests_.empty() && caller_.in_flight() == 0);
}

}  // namespace stretto::rpc
