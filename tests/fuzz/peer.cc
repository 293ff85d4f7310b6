// SPDX-License-Identifier: Apache-2.0
// The peer's bookkeeping, and the invalid fields of its frames.
#include "tests/fuzz/peer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace stretto::fuzz {
namespace {

constexpr std::size_t kMostAsked = 16;
constexpr std::size_t kMostLines = 64;

// Reads every byte, as a network card would, so that a use after release is detected.
std::uint8_t look_at(std::span<const std::byte> bytes) {
  std::uint8_t sum = 0;
  for (const std::byte b : bytes) sum = static_cast<std::uint8_t>(sum ^ static_cast<unsigned>(b));
  return sum;
}

enum Lie : unsigned {
  kSequence = 1,
  kSender = 2,
  kCredit = 4,
  kAcked = 8,
  kEpoch = 16,
  kMagic = 32,
  kBytes = 64,
  kPushSequence = 128,
};

}  // namespace

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "this does not hold: %s\n", what);
  std::abort();
}

Peer::Peer(sim::SimNetwork& network, const Clock& clock, std::string name)
    : network_(network),
      clock_(clock),
      name_(std::move(name)),
      transport_(network.endpoint(name_)) {}

std::string Peer::listen(const std::string& address) {
  const Result<std::string> bound = transport_->listen(address);
  require(bound.ok(), "a peer can listen");
  return *bound;
}

Peer::Line& Peer::connect(const std::string& address) {
  const Result<LinkId> link = transport_->connect(address);
  require(link.ok(), "a peer can connect");
  if (lines_.size() == kMostLines) {
    transport_->close(lines_.front()->link);
    lines_.erase(lines_.begin());
  }
  lines_.push_back(std::make_unique<Line>());
  lines_.back()->link = *link;
  return *lines_.back();
}

Peer::Line* Peer::line_from(Input& input) {
  if (lines_.empty()) return nullptr;
  return lines_[lines_.size() - 1 - input.below(lines_.size())].get();
}

Peer::Line* Peer::find(LinkId link) {
  const auto found = std::find_if(lines_.begin(), lines_.end(),
                                  [link](const auto& line) { return line->link == link; });
  return found == lines_.end() ? nullptr : found->get();
}

std::size_t Peer::welcomes() const {
  return static_cast<std::size_t>(
      std::count_if(lines_.begin(), lines_.end(), [](const auto& line) { return line->welcomed; }));
}

// ---- out

void Peer::stamp(const Line& line, wire::Header& header, std::size_t payload_bytes) {
  header.bytes = static_cast<std::uint32_t>(payload_bytes);
  header.sender = line.sender;
  header.epoch = 1;
  header.sequence = line.sequence + 1;
  header.credit = line.taken_bytes;
  header.acked = line.pushes_in;
  if (header.kind == wire::Kind::kPush) header.push_sequence = line.pushes + 1;
}

bool Peer::submit(Line& line, const wire::Header& header, const Buffer& payload) {
  if (!line.open) return false;
  if (transport_->try_send(line.link, header, payload) != Transport::Sent::kTaken) return false;
  ++line.sequence;
  if (header.kind == wire::Kind::kPush) ++line.pushes;
  return true;
}

bool Peer::send(Line& line, wire::Header header, const Buffer& payload) {
  stamp(line, header, payload.size());
  return submit(line, header, payload);
}

bool Peer::send_control(Line& line, const wire::Control& message) {
  return send(line, wire::Header(), bytes_of(message));
}

bool Peer::send_control(Line& line, const control::Message& message) {
  return send(line, wire::Header(), control::encode(message));
}

void Peer::send_bent(Line& line, wire::Header header, const Buffer& payload, Input& input) {
  stamp(line, header, payload.size());
  const unsigned lies = input.rarely(4) ? input.byte() : 0;
  if ((lies & kSequence) != 0) header.sequence = input.number();
  if ((lies & kSender) != 0) header.sender = input.small();
  if ((lies & kCredit) != 0) header.credit += input.number();
  if ((lies & kAcked) != 0) header.acked += input.number();
  if ((lies & kEpoch) != 0) header.epoch = input.small();
  if ((lies & kMagic) != 0) header.magic = input.take<std::uint32_t>();
  if ((lies & kBytes) != 0) header.bytes = input.small();
  if ((lies & kPushSequence) != 0) header.push_sequence = input.number();
  submit(line, header, payload);
}

void Peer::close(Line& line) {
  if (std::exchange(line.open, false)) transport_->close(line.link);
  line.welcomed = false;
}

// ---- in

void Peer::on_link(LinkId link) {
  lines_.push_back(std::make_unique<Line>());
  lines_.back()->link = link;
}

void Peer::on_frame(LinkId link, wire::HeaderView bytes, Buffer payload) {
  Line* line = find(link);
  if (line == nullptr) return;
  const Result<wire::Header> header = wire::decode(bytes, payload.size());
  require(header.ok(), "honest nodes send frames that can be read");
  require(header->sequence == ++line->frames_in, "honest nodes number their frames");
  volatile std::uint8_t sink = look_at(payload.bytes());
  (void)sink;
  if (header->kind == wire::Kind::kControl) {
    const Result<control::Message> message = control::decode(payload);
    require(message.ok(), "honest nodes send messages that can be read");
    if (const auto* welcome = std::get_if<control::Welcome>(&*message)) {
      line->welcomed = true;
      line->sender = welcome->node;
    }
    if (control::is<Roster>(*message)) line->in_roster = true;
    if (then_) then_(*line, *message);
    return;
  }
  if (header->kind == wire::Kind::kCredit) return;
  line->taken_bytes += wire::kHeaderBytes + payload.size();
  if (header->kind == wire::Kind::kPush) ++line->pushes_in;
  line->asked.push_back(*header);
  if (line->asked.size() > kMostAsked) line->asked.pop_front();
}

void Peer::on_broken(LinkId link, Status) {
  Line* line = find(link);
  if (line == nullptr) return;
  line->open = false;
  line->welcomed = false;
}

}  // namespace stretto::fuzz
