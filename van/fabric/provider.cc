// SPDX-License-Identifier: Apache-2.0
// The requirements for a provider.
#include "van/fabric/provider.h"

#include <fmt/core.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include <cstdlib>

#include "common/memory.h"
#include "common/process/oom_handler.h"

namespace stretto::fabric {
namespace {

constexpr const char* kInOrderOfLiking[] = {"efa", "verbs;ofi_rxm", "tcp;ofi_rxm"};

// Providers named by an address of the host; others find their device without one.
bool has_addresses(std::string_view provider) {
  return provider.starts_with("tcp") || provider.starts_with("verbs") || provider == "net" ||
         provider.starts_with("udp");
}

int ask(const std::string& provider, const std::string& host, Info& found) {
  const Info hints(library()->dupinfo(nullptr));
  if (hints == nullptr) return -FI_ENOMEM;
  hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->fabric_attr->prov_name = ::strdup(provider.c_str());
  // Frames have sequence numbers, but in-order delivery is cheaper.
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  const bool named = has_addresses(provider);
  const bool over_ipv6 = host.find(':') != std::string::npos;
  if (named) hints->addr_format = over_ipv6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
  const bool at_host = named && !host.empty();
  fi_info* info = nullptr;
  const int error = library()->getinfo(FI_VERSION(1, 11), at_host ? host.c_str() : nullptr, nullptr,
                                       at_host ? FI_SOURCE : 0, hints.get(), &info);
  found.reset(error == 0 ? info : nullptr);
  return error;
}

}  // namespace

Status not_reached() {
  const std::string what = "the fabric does not reach the far end";
  if (!memory_is_short()) return {Code::kLinkBroken, what};
  return {Code::kResource, what + ", and memory is short: " + memory_at_hand()};
}

Status failure(Code code, std::string_view wanted, std::int64_t error) {
  const auto positive = static_cast<int>(error < 0 ? -error : error);
  const bool memory = positive == FI_ENOMEM;
  return {memory ? Code::kResource : code,
          fmt::format("{}, but libfabric says: {}{}", wanted, library()->strerror(positive),
                      memory ? "; " + memory_at_hand() : std::string())};
}

Result<Info> find_provider(const std::string& provider, const std::string& host) {
  Info found;
  if (provider == "shm") {
    return Status(Code::kUnsupported,
                  "libfabric's provider 'shm' crashes when a far end has gone, and waits only by "
                  "spinning (1.17); choose tcp;ofi_rxm");
  }
  if (library() == nullptr) {
    return Status(Code::kUnsupported,
                  "libfabric.so.1 cannot be loaded; install libfabric1, or use another transport");
  }
  if (!provider.empty()) {
    const int error = ask(provider, host, found);
    if (error == 0) return found;
    return failure(Code::kUnsupported,
                   fmt::format("wanted libfabric's provider '{}' at '{}' (tcp;ofi_rxm is the one "
                               "that needs no hardware)",
                               provider, host),
                   error);
  }
  int error = 0;
  for (const char* liked : kInOrderOfLiking) {
    error = ask(liked, host, found);
    if (error == 0) return found;
  }
  return failure(Code::kUnsupported,
                 fmt::format("wanted a provider of reliable datagrams at '{}'", host), error);
}

}  // namespace stretto::fabric
