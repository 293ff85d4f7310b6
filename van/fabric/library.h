// SPDX-License-Identifier: Apache-2.0
// libfabric, loaded when it is first needed and not linked: one of its providers (psm3, in Debian's
// build) installs handlers for SIGINT, SIGTERM and others as soon as the library is loaded, also in
// programs that never call it. Here they are taken back.
#pragma once

#include <rdma/fabric.h>

namespace stretto::fabric {

/// The functions of libfabric that are not inline in its headers. fi_allocinfo, which calls one, is
/// therefore not to be used. Thread: any.
struct Library {
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) open_fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;
};

/// Null if there is none on this machine. Thread: any; but no other thread should be changing
/// signal handlers during the first call.
const Library* library();

}  // namespace stretto::fabric
