// SPDX-License-Identifier: Apache-2.0
// Methods: the methods that an endpoint answers. On the wire a method is the hash of its name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/mutex.h"
#include "stretto/rpc.h"

namespace stretto::rpc {

/// FNV-1a with 64 bits (Fowler, Noll, Vo).
constexpr std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

/// kInvalidArgument if the name is empty or too long.
Status check_name(std::string_view name);

/// Thread: any. One mutex; no handler runs under it.
class Methods {
 public:
  struct Method {
    std::string name;
    Handler handler;
  };

  Status add(std::string_view name, Handler handler);
  /// Null if there is none.
  std::shared_ptr<const Method> find(std::uint64_t hash) const;
  std::size_t count() const;

 private:
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<const Method>> methods_ GUARDED_BY(mutex_);
};

}  // namespace stretto::rpc
