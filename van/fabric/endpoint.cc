// SPDX-License-Identifier: Apache-2.0
// Calls of libfabric; this file knows nothing of links or frames.
#include "van/fabric/endpoint.h"

#include <fmt/core.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

#include "common/check.h"
#include "van/fabric/bootstrap_message.h"

namespace stretto::fabric {
namespace {

constexpr std::size_t kQueuedCompletions = 8192;
constexpr std::uint64_t kNoteTag = 1;
constexpr std::size_t kKeysAtOnce = 32;
constexpr std::size_t kReadAtOnce = 32;

Given given(ssize_t result) {
  if (result == 0) return Given::kTaken;
  return result == -FI_EAGAIN ? Given::kLater : Given::kFailed;
}

ProviderOperation* operation_of(void* context) { return static_cast<ProviderOperation*>(context); }

}  // namespace

void fill_randomly(std::span<std::uint64_t> numbers) {
  // getrandom() returns up to 256 bytes at once, or fails entirely.
  STRETTO_CHECK(numbers.size_bytes() <= 256);
  const auto size = static_cast<ssize_t>(numbers.size_bytes());
  STRETTO_CHECK(::getrandom(numbers.data(), numbers.size_bytes(), 0) == size);
}

Result<std::unique_ptr<FabricEndpoint>> FabricEndpoint::open(const std::string& provider,
                                                             const std::string& host) {
  Result<Info> found = find_provider(provider, host);
  if (!found.ok()) return found.status();
  std::unique_ptr<FabricEndpoint> made(new FabricEndpoint(*std::move(found)));
  if (Status status = made->open_all(); !status.ok()) return status;
  return made;
}

FabricEndpoint::~FabricEndpoint() = default;

Status FabricEndpoint::open_all() {
  provider_ = info_->fabric_attr->prov_name;
  const auto refused = [this](const char* what, int error) {
    return failure(Code::kResource, fmt::format("wanted a {} of {}", what, provider_), error);
  };
  fid_fabric* fabric = nullptr;
  if (const int e = library()->open_fabric(info_->fabric_attr, &fabric, nullptr))
    return refused("fabric", e);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int e = fi_domain(fabric, info_.get(), &domain, nullptr)) return refused("domain", e);
  domain_.reset(domain);
  fi_cq_attr queue{};
  queue.size = kQueuedCompletions;
  queue.format = FI_CQ_FORMAT_MSG;
  queue.wait_obj = FI_WAIT_FD;
  fid_cq* completions = nullptr;
  if (fi_cq_open(domain, &queue, &completions, nullptr) != 0) {
    queue.wait_obj = FI_WAIT_NONE;
    if (const int e = fi_cq_open(domain, &queue, &completions, nullptr)) return refused("queue", e);
  }
  completions_.reset(completions);
  if (queue.wait_obj == FI_WAIT_FD) find_descriptor();
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  fid_av* addresses = nullptr;
  if (const int e = fi_av_open(domain, &table, &addresses, nullptr)) return refused("table", e);
  addresses_.reset(addresses);
  fid_ep* endpoint = nullptr;
  if (const int e = fi_endpoint(domain, info_.get(), &endpoint, nullptr)) {
    return refused("endpoint", e);
  }
  endpoint_.reset(endpoint);
  int error = fi_ep_bind(endpoint, &addresses->fid, 0);
  if (error == 0) error = fi_ep_bind(endpoint, &completions->fid, FI_SEND | FI_RECV);
  if (error == 0) error = fi_enable(endpoint);
  name_.resize(kMaxNameBytes);
  std::size_t size = name_.size();
  if (error == 0) error = fi_getname(&endpoint->fid, name_.data(), &size);
  if (error != 0) return refused("working endpoint", error);
  name_.resize(size);
  return {};
}

// The descriptor of "net" stays readable once it has been (libfabric 1.17), so waiting for it would
// spin.
void FabricEndpoint::find_descriptor() {
  int descriptor = -1;
  if (provider_ == "net") return;
  if (fi_control(&completions_->fid, FI_GETWAIT, &descriptor) == 0) descriptor_ = descriptor;
}

Result<fi_addr_t> FabricEndpoint::insert(const std::string& name) {
  const bool sockets = info_->addr_format == FI_SOCKADDR_IN;
  // A socket address is as long and of the same family as ours; other names are text.
  const bool fine = sockets ? name.size() == name_.size() && name.substr(0, 2) == name_.substr(0, 2)
                            : !name.empty() && (info_->addr_format != FI_ADDR_STR ||
                                                name.find('\0') == name.size() - 1);
  if (!fine) return Status(Code::kMalformed, "what came is no name of an endpoint");
  fi_addr_t address = FI_ADDR_UNSPEC;
  const int inserted = fi_av_insert(addresses_.get(), name.data(), 1, &address, 0, nullptr);
  if (inserted == 1) return address;
  return failure(Code::kMalformed, "wanted to know the far end's endpoint", inserted);
}

void FabricEndpoint::remove(fi_addr_t address) { fi_av_remove(addresses_.get(), &address, 1, 0); }

std::uint64_t FabricEndpoint::next_key() {
  if (keys_.empty()) {
    keys_.resize(kKeysAtOnce);
    fill_randomly(keys_);
  }
  const std::uint64_t key = keys_.back();
  keys_.pop_back();
  const std::size_t bits = 8 * info_->domain_attr->mr_key_size;
  return bits >= 64 ? key : key & ((std::uint64_t{1} << bits) - 1);
}

Region FabricEndpoint::expose(std::span<const std::byte> memory) {
  fid_mr* region = nullptr;
  const int error = fi_mr_reg(domain_.get(), memory.data(), memory.size(), FI_REMOTE_READ, 0,
                              next_key(), 0, &region, nullptr);
  return Region(error == 0 ? region : nullptr);
}

std::uint64_t FabricEndpoint::address_in(const Region&, std::span<const std::byte> memory) const {
  const bool absolute = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  return absolute ? reinterpret_cast<std::uint64_t>(memory.data()) : 0;
}

Result<Region> FabricEndpoint::lend(std::span<std::byte> memory) {
  if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) == 0) return Region();
  fid_mr* region = nullptr;
  const int error = fi_mr_reg(domain_.get(), memory.data(), memory.size(),
                              FI_SEND | FI_RECV | FI_READ, 0, next_key(), 0, &region, nullptr);
  if (error == 0) return Region(region);
  return failure(Code::kResource, fmt::format("wanted to register {} bytes", memory.size()), error);
}

Given FabricEndpoint::send(fi_addr_t to, std::span<const std::byte> bytes, void* descriptor,
                           ProviderOperation& done) {
  return given(fi_send(endpoint_.get(), bytes.data(), bytes.size(), descriptor, to, &done));
}

Given FabricEndpoint::send_note(fi_addr_t to, std::span<const std::byte> bytes, void* descriptor,
                                ProviderOperation& done) {
  return given(
      fi_tsend(endpoint_.get(), bytes.data(), bytes.size(), descriptor, to, kNoteTag, &done));
}

Given FabricEndpoint::receive(std::span<std::byte> into, void* descriptor,
                              ProviderOperation& done) {
  return given(
      fi_recv(endpoint_.get(), into.data(), into.size(), descriptor, FI_ADDR_UNSPEC, &done));
}

Given FabricEndpoint::receive_note(std::span<std::byte> into, void* descriptor,
                                   ProviderOperation& done) {
  return given(fi_trecv(endpoint_.get(), into.data(), into.size(), descriptor, FI_ADDR_UNSPEC,
                        kNoteTag, 0, &done));
}

Given FabricEndpoint::read(fi_addr_t from, std::span<std::byte> into, void* descriptor,
                           std::uint64_t address, std::uint64_t key, ProviderOperation& done) {
  return given(
      fi_read(endpoint_.get(), into.data(), into.size(), descriptor, from, address, key, &done));
}

std::span<ProviderCompletion> FabricEndpoint::collect(std::span<ProviderCompletion> room) {
  std::size_t count = 0;
  std::array<fi_cq_msg_entry, kReadAtOnce> entries;
  while (count < room.size()) {
    const std::size_t wanted = std::min(entries.size(), room.size() - count);
    const ssize_t read = fi_cq_read(completions_.get(), entries.data(), wanted);
    if (read == -FI_EAVAIL && collect_error(room[count])) {
      ++count;
      continue;
    }
    if (read <= 0) break;
    for (std::size_t i = 0; i < static_cast<std::size_t>(read); ++i) {
      room[count++] = {operation_of(entries[i].op_context), entries[i].len, 0};
    }
    if (static_cast<std::size_t>(read) < wanted) break;  // Another read would make progress.
  }
  return room.first(count);
}

bool FabricEndpoint::collect_error(ProviderCompletion& into) {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(completions_.get(), &entry, 0) != 1) return false;
  into = {operation_of(entry.op_context), entry.len, entry.err == 0 ? FI_EIO : entry.err};
  return true;
}

bool FabricEndpoint::may_wait() const {
  fid* waited = &completions_->fid;
  return fi_trywait(fabric_.get(), &waited, 1) == FI_SUCCESS;
}

}  // namespace stretto::fabric
