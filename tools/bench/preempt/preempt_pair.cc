// SPDX-License-Identifier: Apache-2.0
// The two processes share a page: requests of one, and the bytes that the other has delivered.
#include "tools/bench/preempt/preempt_pair.h"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>
#include <optional>

#include "tools/bench/preempt/preempt_peer.h"
#include "tools/bench/support/child.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/system.h"

namespace stretto::bench {
namespace {

constexpr Duration kLook = 1ms;  // Between reads of the page.
constexpr Duration kPairPatience = 20s;

struct PairPage {
  std::atomic<bool> connected = false;
  std::atomic<bool> start = false;
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> delivered_bytes = 0;
};

Status carry_background(const PreemptSettings& settings, const PreemptCase& way,
                        std::span<const std::string> addresses, PairPage& page) {
  auto carrier = connect_van(settings, way, addresses);
  if (!carrier.ok()) return carrier.status();
  page.connected = true;
  bool started = false;
  Status status;
  while (status.ok() && !page.stop) {
    if (page.start && !started) {
      status = (*carrier)->start_background();
      started = true;
    }
    if (status.ok()) status = (*carrier)->step(now() + kLook);
    page.delivered_bytes = (*carrier)->delivered_bytes();
  }
  return status;
}

/// Thread: loop.
class PairedSender final : public LoadSender {
 public:
  ~PairedSender() override {
    if (page_ == nullptr) return;
    page_->stop = true;
    if (background_) background_->wait(now() + kPairPatience);
    ::munmap(page_, sizeof(PairPage));
  }

  Status connect(const PreemptSettings& settings, const PreemptCase& way,
                 std::span<const std::string> addresses) {
    void* const memory = ::mmap(nullptr, sizeof(PairPage), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return refused(Code::kResource, "no page to share");
    page_ = new (memory) PairPage;
    Result<Child> child = Child::start(SIGKILL, [&] {
      const Status status = carry_background(settings, way, addresses, *page_);
      if (status.ok()) return 0;
      std::fprintf(stderr, "background: %s\n", status.text().c_str());
      return 1;
    });
    if (!child.ok()) return child.status();
    background_.emplace(*std::move(child));
    const Time deadline = now() + kPairPatience;
    while (!page_->connected) {
      if (background_->wait(now() + kLook)) return {Code::kPeerLost, "the background has ended"};
      if (now() > deadline) return {Code::kTimeout, "the background does not connect"};
    }
    Result<std::unique_ptr<LoadSender>> urgent = connect_van(settings, way, addresses);
    if (!urgent.ok()) return urgent.status();
    urgent_ = *std::move(urgent);
    return {};
  }

  Status start_background() override {
    page_->start = true;
    return {};
  }
  Status send_message(bool urgent) override { return urgent_->send_message(urgent); }
  double cpu_s() const override {
    const pid_t background[] = {background_->process_id()};
    return cpu_seconds() + cpu_seconds_of(background);
  }
  Status step(Time until) override {
    Status status = urgent_->step(std::min(until, now() + kLook));
    answered_ = urgent_->answered();
    delivered_bytes_ = page_->delivered_bytes;
    return status;
  }

 private:
  PairPage* page_ = nullptr;
  std::optional<Child> background_;
  std::unique_ptr<LoadSender> urgent_;
};

}  // namespace

Result<std::unique_ptr<LoadSender>> connect_pair(const PreemptSettings& settings,
                                                 const PreemptCase& way,
                                                 std::span<const std::string> addresses) {
  auto carrier = std::make_unique<PairedSender>();
  if (Status status = carrier->connect(settings, way, addresses); !status.ok()) return status;
  return std::unique_ptr<LoadSender>(std::move(carrier));
}

}  // namespace stretto::bench
