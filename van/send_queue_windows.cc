// SPDX-License-Identifier: Apache-2.0
// How much is under way, of each link and of all that share the way out, and how much may be.
#include <algorithm>
#include <utility>

#include "van/send_queue.h"

namespace stretto {

void SendQueue::set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes) {
  link_window_bytes_ = link_window_bytes;
  pools_[kPlain].window_bytes = pools_[kPlain].bulk_window_bytes = total_window_bytes;
  for (auto& [id, link] : links_) {
    if (link.pool == kShaped) continue;
    link.ordinary.window_bytes = link.bulk.window_bytes = link_window_bytes;
  }
  refresh_all();
}

void SendQueue::set_largest_slice(std::uint64_t bytes) {
  largest_slice_bytes_ = bytes;
  refresh_all();
}

void SendQueue::set_shaped_window(std::uint64_t bytes, std::uint64_t bulk_bytes) {
  pools_[kShaped].window_bytes = bytes;
  pools_[kShaped].bulk_window_bytes = bulk_bytes;
}

void SendQueue::shape(LinkId id, const Bounds& ordinary, const Bounds& bulk) {
  auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  link.ordinary = ordinary;
  link.bulk = bulk;
  if (link.pool == kShaped) return refresh(id, link);
  leave_pool(link);
  pools_[link.pool].ready.withdraw(id);
  link.pool = kShaped;
  note_pooled(link, 0);
  refresh(id, link);
}

// What the link has under way no longer counts.
void SendQueue::leave_pool(Link& link) {
  Pool& pool = pools_[link.pool];
  pool.under_way -= link.pooled();
  if (std::exchange(link.pools_bulk, false)) --pool.bulk_links;
}

// `before` bytes of the link counted in its pool.
void SendQueue::note_pooled(Link& link, std::uint64_t before) {
  Pool& pool = pools_[link.pool];
  pool.under_way = pool.under_way - before + link.pooled();
  const bool bulk = link.bulk_end_bytes > link.gone_bytes();
  if (bulk == std::exchange(link.pools_bulk, bulk)) return;
  pool.bulk_links = bulk ? pool.bulk_links + 1 : pool.bulk_links - 1;
}

bool SendQueue::credited(LinkId id, std::uint64_t taken_bytes) {
  auto found = links_.find(id);
  if (found == links_.end()) return true;
  Link& link = found->second;
  if (taken_bytes > link.sent_bytes) return false;
  const std::uint64_t before = link.pooled();
  link.credited_bytes = std::max(link.credited_bytes, taken_bytes);
  note_pooled(link, before);
  refresh(id, link);
  return true;
}

void SendQueue::departed(LinkId id, std::uint64_t sent_bytes) {
  auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  const std::uint64_t before = link.pooled();
  link.departed_bytes = std::max(link.departed_bytes, std::min(sent_bytes, link.sent_bytes));
  note_pooled(link, before);
}

}  // namespace stretto
