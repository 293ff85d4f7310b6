// SPDX-License-Identifier: Apache-2.0
// The choice of a libfabric provider, and the owner of its description.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>

#include "stretto/status.h"
#include "van/fabric/library.h"

namespace stretto::fabric {

struct FreeInfo {
  void operator()(fi_info* info) const { library()->freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

/// libfabric's description of reliable datagram endpoints at `host` (a numeric address of this
/// host; empty: any). `provider` empty: the first available of efa, verbs;ofi_rxm and tcp;ofi_rxm.
/// kUnsupported if there is none.
Result<Info> find_provider(const std::string& provider, const std::string& host);

/// A Status that quotes libfabric's text for `error` (negative or not).
Status failure(Code code, std::string_view wanted, std::int64_t error);
/// The error for an unreachable peer. The provider does not report a lack of memory.
Status not_reached();

}  // namespace stretto::fabric
