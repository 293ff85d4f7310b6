// SPDX-License-Identifier: Apache-2.0
// A change of a link's counters changes its pool's.
#include "van/queue/send_windows.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto {

bool has_room(std::uint64_t in_flight, std::uint64_t room, std::uint64_t window) {
  return in_flight == 0 || in_flight + room <= window;
}

SendWindows::SendWindows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes)
    : link_window_bytes_(link_window_bytes) {
  for (Pool& pool : pools_) pool.latency_bytes = pool.throughput_bytes = total_window_bytes;
}

void SendWindows::set(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes) {
  link_window_bytes_ = link_window_bytes;
  pools_[0].latency_bytes = pools_[0].throughput_bytes = total_window_bytes;
  for (auto& [id, link] : links_) {
    if (!link.shaped) link.window.set_window(link_window_bytes);
    touch(id, link);
  }
}

void SendWindows::set_largest_slice(std::uint64_t bytes) {
  largest_slice_bytes_ = bytes;
  for (auto& [id, link] : links_) touch(id, link);
}

void SendWindows::set_shaped(std::uint64_t latency_bytes, std::uint64_t throughput_bytes) {
  pools_[1].latency_bytes = latency_bytes;
  pools_[1].throughput_bytes = throughput_bytes;
}

void SendWindows::set_latency_mode(const std::optional<Urgency>& above) {
  if (above == std::exchange(above_, above)) return;
  for (auto& [id, link] : links_) touch(id, link);
}

void SendWindows::shape(LinkId id, const WindowLimits& latency, const WindowLimits& throughput) {
  Link* link = links_.find(id);
  if (link == nullptr) return;
  link->window.set_bounds(latency, throughput);
  touch(id, *link);
  if (link->shaped) return;
  pool_of(*link).leave(*link);
  link->shaped = true;
  pool_of(*link).recount(*link, 0);
}

void SendWindows::add(LinkId link) { links_.add(link, link_window_bytes_); }

void SendWindows::remove(LinkId id) {
  Link* link = links_.find(id);
  if (link == nullptr) return;
  pool_of(*link).leave(*link);
  if (link->changed) std::erase(changed_, id);
  links_.remove(id);
}

void SendWindows::touch(LinkId id, Link& link) {
  if (!std::exchange(link.changed, true)) changed_.push_back(id);
}

void SendWindows::Pool::leave(Link& link) {
  STRETTO_CHECK(here >= link.window.here());
  here -= link.window.here();
  if (!std::exchange(link.counts_as_wide, false)) return;
  STRETTO_CHECK(wide_links > 0);
  --wide_links;
}

void SendWindows::Pool::recount(Link& link, std::uint64_t before) {
  STRETTO_CHECK(here >= before);
  here = here - before + link.window.here();
  const bool wide = link.window.is_wide_here();
  if (wide == std::exchange(link.counts_as_wide, wide)) return;
  STRETTO_CHECK(wide || wide_links > 0);
  wide_links = wide ? wide_links + 1 : wide_links - 1;
}

void SendWindows::note_sent(LinkId id, std::uint64_t bytes) {
  Link& link = links_.at(id);
  const std::uint64_t before = link.window.here();
  link.window.note_sent(bytes, !above_);
  pool_of(link).recount(link, before);
  touch(id, link);
}

bool SendWindows::credited(LinkId id, std::uint64_t taken_bytes) {
  Link* link = links_.find(id);
  if (link == nullptr) return true;
  const std::uint64_t before = link->window.here();
  if (!link->window.note_credited(taken_bytes)) return false;
  pool_of(*link).recount(*link, before);
  touch(id, *link);
  return true;
}

void SendWindows::departed(LinkId id, std::uint64_t sent_bytes) {
  Link* link = links_.find(id);
  if (link == nullptr) return;
  const std::uint64_t before = link->window.here();
  link->window.note_departed(sent_bytes);
  pool_of(*link).recount(*link, before);
}

void SendWindows::set_full(LinkId id, bool full) {
  Link* link = links_.find(id);
  if (link == nullptr) return;
  link->full = full;
  touch(id, *link);
}

Slicing SendWindows::slicing_of(const Link& link) const {
  return {.quantum_bytes = link.window.quantum_bytes(above_.has_value()),
          .largest_bytes = largest_slice_bytes_};
}

bool SendWindows::fits(bool shaped, std::uint64_t room, bool urgent) const {
  const Pool& pool = pools_[shaped ? 1 : 0];
  const bool wide = !above_ || (urgent && pool.wide_links > 0);
  return stretto::has_room(pool.here, room, wide ? pool.throughput_bytes : pool.latency_bytes);
}

std::uint64_t SendWindows::in_flight(LinkId link) const {
  const Link* found = find(link);
  return found == nullptr ? 0 : found->window.in_flight();
}

std::uint64_t SendWindows::in_flight() const {
  std::uint64_t all = 0;
  for (const auto& [id, link] : links_) all += link.window.in_flight();
  return all;
}

std::uint64_t SendWindows::most_in_flight() const {
  std::uint64_t most = 0;
  for (const auto& [id, link] : links_) most = std::max(most, link.window.in_flight());
  return most;
}

std::uint64_t SendWindows::sent(LinkId link) const {
  const Link* found = find(link);
  return found == nullptr ? 0 : found->window.sent();
}

}  // namespace stretto
