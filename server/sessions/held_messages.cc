// SPDX-License-Identifier: Apache-2.0
// One queue per link, so that a worker's messages keep their order.
#include "server/sessions/held_messages.h"

#include <iterator>
#include <utility>

namespace stretto {
namespace {

constexpr std::uint32_t kMostOfPart = 4;               // One per queue, and one.
constexpr std::uint32_t kMostControl = 4096;           // For all parts.
constexpr wire::Key kControl{.tensor = 0, .part = 0};  // Tensor ids start at 1.

std::optional<wire::Key> part_needed(const control::Message& message) {
  if (const auto* request = std::get_if<control::StateRequest>(&message)) {
    return wire::Key{request->tensor, request->part};
  }
  if (const auto* told = std::get_if<control::Recall>(&message)) {
    return wire::Key{told->tensor, told->part};
  }
  return std::nullopt;
}

std::optional<wire::Key> part_needed(const wire::Header& header) {
  const bool needs = header.kind == wire::Kind::kPush || header.kind == wire::Kind::kPull;
  return needs ? std::optional(header.key) : std::nullopt;
}

}  // namespace

// A read of the part begins even if the message waits for an earlier one.
bool HeldMessages::takes(LinkId link, const std::optional<wire::Key>& part) const {
  const bool waits = part && !ways_.is_ready(*part);
  return waits || (link != released_ && links_.contains(link));
}

// Opening a tensor makes no part, so it never waits.
bool HeldMessages::takes(LinkId link, const control::Message& message) {
  if (control::is<control::Open>(message)) return false;
  const std::optional<wire::Key> part = part_needed(message);
  if (!takes(link, part)) return false;
  add(link, {.part = part, .counted = kControl, .content = message});
  return true;
}

bool HeldMessages::takes(LinkId link, const wire::Header& header, const Buffer& payload) {
  const std::optional<wire::Key> part = part_needed(header);
  if (!takes(link, part)) return false;
  add(link, {.part = part, .counted = header.key, .content = Data{header, to_own(payload)}});
  return true;
}

void HeldMessages::add(LinkId link, Message message) {
  Waiting& waiting = links_[link];
  std::uint32_t& held = waiting.counts[message.counted];
  if (held >= (message.counted == kControl ? kMostControl : kMostOfPart)) {
    return ways_.refuse(link,
                        {Code::kResource, "too many messages wait for parts of a checkpoint"});
  }
  ++held;
  waiting.messages.push_back(std::move(message));
}

void HeldMessages::release(Van::Handler& handler) {
  for (auto next = links_.begin(); next != links_.end();) {
    Waiting& waiting = next->second;
    released_ = next->first;
    while (!waiting.messages.empty()) {
      if (!ways_.is_open(released_)) {
        waiting.messages.clear();
        break;
      }
      if (const auto& part = waiting.messages.front().part; part && !ways_.is_ready(*part)) break;
      Message message = std::move(waiting.messages.front());
      waiting.messages.pop_front();
      --waiting.counts[message.counted];
      if (auto* data = std::get_if<Data>(&message.content)) {
        handler.on_data(released_, data->header, std::move(data->payload));
      } else {
        handler.on_control(released_, std::get<control::Message>(message.content));
      }
    }
    next = waiting.messages.empty() ? links_.erase(next) : std::next(next);
  }
  released_ = 0;
}

}  // namespace stretto
