// SPDX-License-Identifier: Apache-2.0
// HeldMessages: workers' messages for parts that cannot be made yet, and all later messages of
// these workers, in order.
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
    /// True if a part can be made now; otherwise starts the preparation.
    std::function<bool(const wire::Key&)> is_ready;
    std::function<bool(LinkId)> is_open;
    /// Closes a link, with the reason.
    std::function<void(LinkId, const Status&)> refuse;
  };

  explicit HeldMessages(Ways ways) : ways_(std::move(ways)) {}

  /// True if the message waits: its part is not ready, or an earlier message of its link waits. A
  /// link with more messages than a worker may have in flight is refused with Resource.
  bool takes(LinkId link, const control::Message& message);
  bool takes(LinkId link, const wire::Header& header, const Buffer& payload);
  /// Delivers messages whose part is ready and whose link is open. Drops those of closed links. The
  /// handler may pass a message to takes() again.
  void release(Van::Handler& handler);

 private:
  struct Data {
    wire::Header header;
    Buffer payload;
  };
  struct Message {
    std::optional<wire::Key> part;  // The part that it needs.
    wire::Key counted;              // Counts towards this part's limit.
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
  LinkId released_ = 0;  // The link that is being delivered.
};

}  // namespace stretto
