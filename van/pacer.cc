// SPDX-License-Identifier: Apache-2.0
// From paths to windows.
#include "van/pacer.h"

#include <algorithm>

namespace stretto {
namespace {

constexpr Duration kShapeAllEvery = 500us;
constexpr std::uint64_t kAlignment = 64;  // So that slices are whole elements, and aligned.

}  // namespace

void Pacer::add_link(LinkId link, Time now) {
  const auto [found, is_new] = paths_.try_emplace(link);
  if (!is_new) return;
  shape(link, found->second, now);
  shape_all(now);
}

void Pacer::on_time(Time now) {
  if (!paths_.empty() && now - shaped_all_at_ >= kShapeAllEvery) shape_all(now);
}

bool Pacer::wants_credit(LinkId link, std::uint64_t charge) {
  const auto found = paths_.find(link);
  return found != paths_.end() && found->second.wants_credit(queue_.sent(link) + charge);
}

void Pacer::on_sent(LinkId link, std::uint64_t charge, Time now) {
  const auto found = paths_.find(link);
  if (found == paths_.end()) return;
  found->second.on_sent(queue_.sent(link), charge, queue_.has_work(link), now);
  shape(link, found->second, now);
}

void Pacer::on_credit(LinkId link, std::uint64_t taken_bytes, Time now) {
  const auto found = paths_.find(link);
  if (found == paths_.end()) return;
  found->second.on_credit(taken_bytes, now);
  shape(link, found->second, now);
  on_time(now);
}

// A quarter of the limit is the largest slice, whatever the path would like.
std::uint64_t Pacer::quantum_of(const Path& path) const {
  const std::uint64_t most = std::max(limit_bytes_ / 4, kAlignment) / kAlignment * kAlignment;
  return std::min(path.quantum_bytes(), most);
}

// To see the round trip anew the path must be empty: the window stays shut until it is, and then a
// small slice goes first.
void Pacer::shape(LinkId link, const Path& path, Time now) {
  std::uint64_t window = std::min(path.window_bytes(), limit_bytes_);
  std::uint64_t quantum = quantum_of(path);
  if (path.wants_probe(now)) {
    const bool empty = queue_.under_way(link) == 0;
    if (empty) quantum = std::min(quantum, Path::kProbeBytes);
    if (!empty && path.round_trip() != Duration::zero()) window = 1;
  }
  queue_.shape(link, window, quantum);
}

// The way out is as fast as all paths together are, and what has left it must not count: a slow
// far end does not hold up the others.
void Pacer::shape_all(Time now) {
  shaped_all_at_ = now;
  std::uint64_t window = 0;
  std::uint64_t quantum = 0;
  for (auto& [link, path] : paths_) {
    queue_.departed(link, path.departed_bytes(now));
    quantum = std::max(quantum, quantum_of(path));
    if (queue_.under_way(link) > 0) window += path.window_bytes() - path.quantum_bytes();
  }
  queue_.set_shaped_window(std::min(std::max(window + quantum, 2 * quantum), limit_bytes_));
}

const Path* Pacer::find(LinkId link) const {
  const auto found = paths_.find(link);
  return found == paths_.end() ? nullptr : &found->second;
}

}  // namespace stretto
