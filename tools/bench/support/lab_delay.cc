// SPDX-License-Identifier: Apache-2.0
// Packets carry virtio's header, so that TCP segments of up to 64 KiB are read, held and written as
// one piece.
#include "tools/bench/support/lab_delay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <utility>
#include <vector>

#include "common/descriptor.h"
#include "tools/bench/support/flags.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/system.h"

namespace stretto::bench {
namespace {

constexpr std::size_t kMostBytes = (64 << 10) + 256;  // A packet with its headers.
constexpr int kBurst = 64;                            // Packets read from one end at a time.
constexpr int kBuffer = 8 << 20;

Status set(int descriptor, int level, int option, int value, const char* name) {
  if (::setsockopt(descriptor, level, option, &value, sizeof value) == 0) return {};
  return refused(Code::kUnsupported, name);
}

// Reads incoming packets of a device, not its outgoing ones.
Result<Descriptor> open_cable(const std::string& device) {
  Descriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return refused(Code::kUnsupported, "no packet socket");
  Status status = set(socket.get(), SOL_PACKET, PACKET_VNET_HDR, 1, "no PACKET_VNET_HDR");
  if (status.ok()) {
    status = set(socket.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, "no PACKET_IGNORE_OUTGOING");
  }
  if (status.ok()) status = set(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, kBuffer, "no SO_RCVBUF");
  // The size of the shaper's queue, which is the bound.
  if (status.ok()) status = set(socket.get(), SOL_SOCKET, SO_SNDBUFFORCE, kBuffer, "no SO_SNDBUF");
  if (!status.ok()) return status;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(device.c_str()));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return refused(Code::kUnsupported, fmt::format("cannot read packets of {}", device));
  }
  return socket;
}

Result<Descriptor> open_tap(const std::string& device) {
  Descriptor tap(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!tap.is_open()) return refused(Code::kUnsupported, "cannot open /dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  device.copy(request.ifr_name, IFNAMSIZ - 1);
  if (::ioctl(tap.get(), TUNSETIFF, &request) != 0 ||
      ::ioctl(tap.get(), TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0) {
    return refused(Code::kUnsupported, fmt::format("no tap {}", device));
  }
  return tap;
}

// One cable, from the delayed host to the undelayed network.
class DelayedCable {
 public:
  DelayedCable(Descriptor host, Descriptor network, Duration delay)
      : host_(std::move(host)), network_(std::move(network)), delay_(delay) {}

  std::pair<pollfd, pollfd> looks() const {
    return {{host_.get(), POLLIN, 0}, {network_.get(), POLLIN, 0}};
  }
  Time due() const { return kept_.empty() ? Time::max() : kept_.front().due; }

  void carry() {
    for (int i = 0; i < kBurst && take(network_); ++i) write(host_, packet_);
    for (int i = 0; i < kBurst && take(host_); ++i) kept_.push_back({now() + delay_, packet_});
    for (; !kept_.empty() && kept_.front().due <= now(); kept_.pop_front()) {
      write(network_, kept_.front().bytes);
    }
  }

 private:
  struct Kept {
    Time due;
    std::vector<char> bytes;
  };

  bool take(const Descriptor& from) {
    packet_.resize(kMostBytes);
    const ssize_t got = ::read(from.get(), packet_.data(), packet_.size());
    packet_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return got > 0;
  }
  // Packets that are not accepted are lost, as in a full queue.
  static void write(const Descriptor& to, const std::vector<char>& bytes) {
    [[maybe_unused]] const ssize_t written = ::write(to.get(), bytes.data(), bytes.size());
  }

  Descriptor host_;
  Descriptor network_;
  Duration delay_;
  std::vector<char> packet_;
  std::deque<Kept> kept_;
};

void await(const std::vector<DelayedCable>& carriers) {
  std::vector<pollfd> looks;
  Time due = Time::max();
  for (const DelayedCable& carrier : carriers) {
    const auto [host, network] = carrier.looks();
    looks.push_back(host);
    looks.push_back(network);
    due = std::min(due, carrier.due());
  }
  const Duration left = due == Time::max() ? Duration(1s) : std::max(Duration(0), due - now());
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec limit{.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
  ::ppoll(looks.data(), looks.size(), &limit, nullptr);  // Interrupted: the loop checks again.
}

}  // namespace

Status carry_with_delay(const LabPlan::Delayed& delayed, const std::function<void()>& ready) {
  if (Status status = Netlab::enter({delayed.network, ""}); !status.ok()) return status;
  ::prctl(PR_SET_TIMERSLACK, 1);
  std::vector<DelayedCable> carriers;
  for (const auto& [cable, tap] : delayed.cables) {
    Result<Descriptor> host = open_cable(cable);
    if (!host.ok()) return host.status();
    Result<Descriptor> network = open_tap(tap);
    if (!network.ok()) return network.status();
    carriers.emplace_back(*std::move(host), *std::move(network), delayed.delay);
  }
  ready();
  for (;;) {
    await(carriers);
    for (DelayedCable& carrier : carriers) carrier.carry();
  }
}

Status run_delay_role(std::span<const std::string> words) {
  const auto wanted = [](const std::string& found) {
    return Status(Code::kInvalidArgument,
                  fmt::format("wanted NAMESPACE SECONDS CABLE:TAP..., found '{}'", found));
  };
  if (words.size() < 3) return wanted(fmt::format("{}", fmt::join(words, " ")));
  LabPlan::Delayed delayed{.network = words[0], .cables = {}, .delay = {}};
  double delay = 0;
  if (Status status = read_seconds(words[1], 0, 10, delay); !status.ok()) return status;
  delayed.delay = duration_of(delay);
  for (const std::string& word : words.subspan(2)) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos) return wanted(word);
    delayed.cables.emplace_back(word.substr(0, colon), word.substr(colon + 1));
  }
  return carry_with_delay(delayed, [] {
    std::puts("ready");
    std::fflush(stdout);
  });
}

Status start_delay(const Netlab& lab, Children& children) {
  if (lab.delayed().cables.empty()) return {};
  Result<Pipe> pipe = Pipe::open();
  if (!pipe.ok()) return pipe.status();
  Status status = children.start([&lab, &pipe] {
    pipe->read.close();
    const Status ended = carry_with_delay(lab.delayed(), [&pipe] {
      if (::write(pipe->write.get(), "1", 1) < 0) std::abort();
    });
    std::fprintf(stderr, "%s\n", ended.text().c_str());
    return 1;
  });
  if (!status.ok()) return status;
  pipe->write.close();
  char ready = 0;
  if (::read(pipe->read.get(), &ready, 1) == 1) return {};
  return {Code::kUnsupported, "the links' delays could not be made; what went wrong is said above"};
}

}  // namespace stretto::bench
