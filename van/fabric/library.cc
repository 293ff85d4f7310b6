// SPDX-License-Identifier: Apache-2.0
// Loads libfabric, and restores the signal handlers.
#include "van/fabric/library.h"

#include <dlfcn.h>
#include <signal.h>

#include <array>

namespace stretto::fabric {
namespace {

constexpr const char* kName = "libfabric.so.1";
constexpr int kSignals = 32;  // Real-time ones have other users.

template <typename Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

Library load() {
  std::array<struct sigaction, kSignals> before{};
  std::array<bool, kSignals> known{};
  for (int i = 1; i < kSignals; ++i) {
    const auto at = static_cast<std::size_t>(i);
    known[at] = ::sigaction(i, nullptr, &before[at]) == 0;
  }
  void* handle = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  for (int i = 1; i < kSignals; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (known[at]) ::sigaction(i, &before[at], nullptr);
  }
  Library found;
  if (handle != nullptr && find(handle, "fi_getinfo", found.getinfo) &&
      find(handle, "fi_freeinfo", found.freeinfo) && find(handle, "fi_dupinfo", found.dupinfo) &&
      find(handle, "fi_fabric", found.open_fabric) && find(handle, "fi_strerror", found.strerror)) {
    return found;
  }
  return {};
}

}  // namespace

const Library* library() {
  static const Library kLoaded = load();
  return kLoaded.strerror == nullptr ? nullptr : &kLoaded;
}

}  // namespace stretto::fabric
