// SPDX-License-Identifier: Apache-2.0
// Which provider of libfabric to use, and how its answer about itself is kept.
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

/// What libfabric says of reliable datagram endpoints at `host` (an address of this host in digits;
/// empty: any). `provider` empty: the first that there is of efa, verbs;ofi_rxm and tcp;ofi_rxm.
/// kUnsupported if there is none.
Result<Info> find_provider(const std::string& provider, const std::string& host);

/// A Status that quotes libfabric's words for `error` (negative or not).
Status failure(Code code, std::string_view wanted, std::int64_t error);
/// Of a far end that nothing comes from. The provider does not say if it lacks memory.
Status not_reached();

}  // namespace stretto::fabric
