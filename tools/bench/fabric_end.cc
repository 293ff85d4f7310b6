// SPDX-License-Identifier: Apache-2.0
// libfabric's calls, as plainly as they can be used.
#include "tools/bench/fabric_end.h"

#include <fmt/format.h>
#include <poll.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <string.h>

#include "van/fabric/library.h"

namespace stretto::bench {
namespace {

Status refused(std::string_view what, int error) {
  return {Code::kUnsupported,
          fmt::format("libfabric gives no {}: {}", what, fabric::library()->strerror(-error))};
}

}  // namespace

Result<std::unique_ptr<FabricEnd>> FabricEnd::open() {
  const fabric::Library* const library = fabric::library();
  if (library == nullptr) return Status(Code::kUnsupported, "libfabric.so.1 cannot be loaded");
  auto end = std::make_unique<FabricEnd>();
  const std::unique_ptr<fi_info, void (*)(fi_info*)> hints(library->dupinfo(nullptr),
                                                           library->freeinfo);
  hints->caps = FI_TAGGED | FI_RMA;
  hints->ep_attr->type = FI_EP_RDM;
  hints->addr_format = FI_SOCKADDR_IN;
  hints->fabric_attr->prov_name = ::strdup("tcp;ofi_rxm");
  fi_info* info = nullptr;
  int e = library->getinfo(FI_VERSION(1, 11), "127.0.0.1", nullptr, FI_SOURCE, hints.get(), &info);
  if (e != 0) return refused("provider tcp;ofi_rxm", e);
  end->info_ = {info, library->freeinfo};
  fid_fabric* fabric = nullptr;
  if ((e = library->open_fabric(info->fabric_attr, &fabric, nullptr)) != 0)
    return refused("fabric", e);
  end->fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if ((e = fi_domain(fabric, info, &domain, nullptr)) != 0) return refused("domain", e);
  end->domain_.reset(domain);
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_TAGGED;
  queue.wait_obj = FI_WAIT_FD;
  fid_cq* completions = nullptr;
  if ((e = fi_cq_open(domain, &queue, &completions, nullptr)) != 0) return refused("queue", e);
  end->completions_.reset(completions);
  fi_av_attr table{};
  fid_av* addresses = nullptr;
  if ((e = fi_av_open(domain, &table, &addresses, nullptr)) != 0) return refused("table", e);
  end->addresses_.reset(addresses);
  fid_ep* endpoint = nullptr;
  if ((e = fi_endpoint(domain, info, &endpoint, nullptr)) != 0) return refused("endpoint", e);
  end->endpoint_.reset(endpoint);
  end->name_.resize(64);
  std::size_t size = end->name_.size();
  if ((e = fi_ep_bind(endpoint, &addresses->fid, 0)) != 0 ||
      (e = fi_ep_bind(endpoint, &completions->fid, FI_SEND | FI_RECV)) != 0 ||
      (e = fi_enable(endpoint)) != 0 ||
      (e = fi_getname(&endpoint->fid, end->name_.data(), &size)) != 0 ||
      (e = fi_control(&completions->fid, FI_GETWAIT, &end->descriptor_)) != 0) {
    return refused("working endpoint", e);
  }
  end->name_.resize(size);
  return end;
}

bool FabricEnd::meet(const std::string& name, fi_addr_t& address) {
  return fi_av_insert(addresses_.get(), name.data(), 1, &address, 0, nullptr) == 1;
}

bool FabricEnd::expose(std::span<const std::byte> memory, std::uint64_t key) {
  fid_mr* region = nullptr;
  if (fi_mr_reg(domain_.get(), memory.data(), memory.size(), FI_REMOTE_READ, 0, key, 0, &region,
                nullptr) != 0) {
    return false;
  }
  regions_.emplace_back(region);
  return true;
}

template <typename Call>
bool FabricEnd::insist(Call call) {
  ssize_t result = call();
  for (; result == -FI_EAGAIN; result = call()) {
    const Done done = next();
    if (!done.nothing) early_.push_back(done);
  }
  return result == 0;
}

bool FabricEnd::send(fi_addr_t to, std::span<const std::byte> bytes, std::uint64_t tag,
                     void* context) {
  return insist([&] {
    return fi_tsend(endpoint_.get(), bytes.data(), bytes.size(), nullptr, to, tag, context);
  });
}

bool FabricEnd::receive(std::span<std::byte> into, std::uint64_t tag, std::uint64_t ignored,
                        void* context) {
  return insist([&] {
    return fi_trecv(endpoint_.get(), into.data(), into.size(), nullptr, FI_ADDR_UNSPEC, tag,
                    ignored, context);
  });
}

bool FabricEnd::read(fi_addr_t from, std::span<std::byte> into, std::uint64_t key, void* context) {
  return insist([&] {
    return fi_read(endpoint_.get(), into.data(), into.size(), nullptr, from, 0, key, context);
  });
}

FabricEnd::Done FabricEnd::next() {
  fi_cq_tagged_entry entry{};
  const ssize_t read = fi_cq_read(completions_.get(), &entry, 1);
  if (read == 1) return {.context = entry.op_context, .tag = entry.tag, .bytes = entry.len};
  if (read == -FI_EAVAIL) {
    fi_cq_err_entry error{};
    fi_cq_readerr(completions_.get(), &error, 0);
    return {.context = error.op_context, .failed = true};
  }
  return {.nothing = true};
}

FabricEnd::Done FabricEnd::wait(int milliseconds) {
  if (!early_.empty()) {
    const Done done = early_.front();
    early_.erase(early_.begin());
    return done;
  }
  Done done = next();
  if (!done.nothing) return done;
  fid* waited = &completions_->fid;
  if (fi_trywait(fabric_.get(), &waited, 1) == 0) {
    pollfd readable{.fd = descriptor_, .events = POLLIN, .revents = 0};
    ::poll(&readable, 1, milliseconds);
  }
  return next();
}

}  // namespace stretto::bench
