// SPDX-License-Identifier: Apache-2.0
// libfabric, loaded on first use and not linked: one of its providers (psm3, in Debian's build)
// installs handlers for SIGINT, SIGTERM and others when the library is loaded, even in programs
// that never call it. Here they are restored.
#pragma once

#include <rdma/fabric.h>

namespace stretto::fabric {

/// The functions of libfabric that are not inline in its headers. fi_allocinfo calls one of them
/// and therefore must not be used. Thread: any.
struct Library {
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) open_fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;
};

/// Null if this machine has no libfabric. Thread: any; but no other thread should change signal
/// handlers during the first call.
const Library* library();

}  // namespace stretto::fabric
