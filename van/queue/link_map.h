// SPDX-License-Identifier: Apache-2.0
// LinkMap: a map from links to values. Consecutive lookups mostly name the same link, as a frame is
// picked, taken and credited; that link is found without a search.
#pragma once

#include <unordered_map>
#include <utility>

#include "common/check.h"
#include "van/transport/transport.h"

namespace stretto {

/// Values have stable addresses. Thread: loop, for reads as well.
template <typename T>
class LinkMap {
 public:
  /// No effect if the link has a value.
  template <typename... Arguments>
  void add(LinkId link, Arguments&&... arguments) {
    all_.try_emplace(link, std::forward<Arguments>(arguments)...);
    forget_last();
  }
  void remove(LinkId link) {
    all_.erase(link);
    forget_last();
  }

  /// Null if there is none, as for 0, which is no link.
  T* find(LinkId link) {
    if (link != last_) search(link);
    return found_;
  }
  const T* find(LinkId link) const {
    if (link != last_) search(link);
    return found_;
  }
  T& at(LinkId link) {
    T* found = find(link);
    STRETTO_CHECK(found != nullptr);
    return *found;
  }

  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  void forget_last() const {
    last_ = 0;
    found_ = nullptr;
  }
  void search(LinkId link) const {
    const auto found = all_.find(link);
    found_ = found == all_.end() ? nullptr : &found->second;
    last_ = link;
  }

  mutable std::unordered_map<LinkId, T> all_;
  mutable LinkId last_ = 0;
  mutable T* found_ = nullptr;
};

}  // namespace stretto
