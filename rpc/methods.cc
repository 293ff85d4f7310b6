// SPDX-License-Identifier: Apache-2.0
// A table from hashes to handlers.
#include "rpc/methods.h"

#include <fmt/core.h>

namespace stretto::rpc {

Status check_name(std::string_view name) {
  if (!name.empty() && name.size() <= kMaxMethodBytes) return {};
  return {Code::kInvalidArgument, fmt::format("the name of a method has {} bytes, wanted 1 to {}",
                                              name.size(), kMaxMethodBytes)};
}

Status Methods::add(std::string_view name, Handler handler) {
  if (Status status = check_name(name); !status.ok()) return status;
  if (!handler) {
    return {Code::kInvalidArgument, fmt::format("method '{}' was given no handler", name)};
  }
  auto method = std::make_shared<Method>(Method{std::string(name), std::move(handler)});
  MutexLock lock(mutex_);
  const auto [found, is_new] = methods_.try_emplace(hash_of(name), std::move(method));
  if (is_new) return {};
  return {Code::kInvalidArgument,
          found->second->name == name
              ? fmt::format("method '{}' has a handler already", name)
              : fmt::format("'{}' has the same hash as '{}'; give it another name", name,
                            found->second->name)};
}

std::shared_ptr<const Methods::Method> Methods::find(std::uint64_t hash) const {
  MutexLock lock(mutex_);
  const auto found = methods_.find(hash);
  return found == methods_.end() ? nullptr : found->second;
}

std::size_t Methods::count() const {
  MutexLock lock(mutex_);
  return methods_.size();
}

}  // namespace stretto::rpc
