// SPDX-License-Identifier: Apache-2.0
// HeldMessages: what workers send for parts that cannot be made yet, and all that each of them
// sends after that, in order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "common/buffer.h"
#include "van/control.h"
#include "van/van.h"

namespace stretto {

/// Thread: loop.
class HeldMessages {
 public:
  /// The part that a message needs can be made now; if not, it will be.
  using Ready = std::function<bool(const wire::Key&)>;
  /// Ends a link, with the reason.
  using Refuse = std::function<void(LinkId, const Status&)>;

  HeldMessages(Ready ready, Refuse refuse) : ready_(std::move(ready)), refuse_(std::move(refuse)) {}

  /// True if the message waits: its part is not ready, or an earlier message of its link waits. A
  /// link is refused with Resource if it sends more than a worker does before it has an answer.
  bool takes(LinkId link, const control::Message& message);
  bool takes(LinkId link, const wire::Header& header, const Buffer& payload);
  /// The link has ended, and with it what waits.
  void forget(LinkId link) { links_.erase(link); }
  /// Hands over what need not wait any longer. The handler may ask takes() of it again.
  void release(Van::Handler& handler);

 private:
  struct Data {
    wire::Header header;
    Buffer payload;
  };
  struct Message {
    std::optional<wire::Key> part;  // That it needs.
    std::variant<control::Message, Data> content;
  };
  struct Waiting {
    std::deque<Message> messages;
    std::map<wire::Key, std::uint32_t> of_part;
  };

  bool takes(LinkId link, const std::optional<wire::Key>& part) const;
  void add(LinkId link, Message message);

  const Ready ready_;
  const Refuse refuse_;
  std::map<LinkId, Waiting> links_;
  LinkId released_ = 0;  // Whose messages are being handed over.
};

}  // namespace stretto
