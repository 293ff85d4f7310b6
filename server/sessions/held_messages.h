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

#include "common/memory/buffer.h"
#include "van/control/control.h"
#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class HeldMessages {
 public:
  struct Ways {
    /// A part can be made now; if not, it will be.
    std::function<bool(const wire::Key&)> is_ready;
    std::function<bool(LinkId)> is_open;
    /// Ends a link, with the reason.
    std::function<void(LinkId, const Status&)> refuse;
  };

  explicit HeldMessages(Ways ways) : ways_(std::move(ways)) {}

  /// True if the message waits: its part is not ready, or an earlier message of its link waits. A
  /// link is refused with Resource if it sends more than a worker does before it has an answer.
  bool takes(LinkId link, const control::Message& message);
  bool takes(LinkId link, const wire::Header& header, const Buffer& payload);
  /// Delivers messages whose part is ready and whose link is open. Drops those of closed links. The
  /// handler may ask takes() of a message again.
  void release(Van::Handler& handler);

 private:
  struct Data {
    wire::Header header;
    Buffer payload;
  };
  struct Message {
    std::optional<wire::Key> part;  // That it needs.
    wire::Key counted;              // Among the messages of this part.
    std::variant<control::Message, Data> content;
  };
  struct Waiting {
    std::deque<Message> messages;
    std::map<wire::Key, std::uint32_t> counts;
  };

  bool takes(LinkId link, const std::optional<wire::Key>& part) const;
  void add(LinkId link, Message message);

  const Ways ways_;
  std::map<LinkId, Waiting> links_;
  LinkId released_ = 0;  // Whose messages are being handed over.
};

}  // namespace stretto
