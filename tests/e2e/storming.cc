// SPDX-License-Identifier: Apache-2.0
// Very many members of a job in one process, without tensors: each has a link to the scheduler,
// like a real member, and sends heartbeats. Several times all links are broken at once. For
// tools/chaos storm.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <list>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/network/address.h"
#include "van/engine/van.h"
#include "van/membership/membership_client.h"
#include "van/session/reconnect_timeouts.h"
#include "van/transports.h"

DEFINE_string(scheduler, "", "host:port");
DEFINE_string(token, "", "Of the job");
DEFINE_uint32(members, 64, "One is a server, the others are workers");
DEFINE_uint32(storms, 3, "How often all links break");
DEFINE_double(calm, 4, "Seconds between them");
DEFINE_double(dead_after, 5, "STRETTO_DEAD_AFTER_S of the scheduler");

namespace stretto {
namespace {

constexpr Duration kPatience = 120s;
constexpr std::size_t kPartBytes = 1 << 20;
constexpr int kMostDescriptors = 1 << 20;

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// Thread: loop.
class Lightweight final : private FrameHandler {
 public:
  Lightweight(Role role, Rank rank, const Clock& clock)
      : config_(config_of(role, rank)),
        van_(make_transport(kPartBytes).or_exit(), clock, {.limits = limits_for(config_)}),
        membership_(config_, {.address = role == Role::kServer ? "127.0.0.1:9" : ""}, van_, clock) {
    membership_.start();
  }

  void step() {
    van_.step(*this, Duration::zero());
    membership_.tick();
  }
  void leave() { membership_.leave(); }
  bool in() const { return membership_.state() == MembershipClient::State::kMember; }
  bool over() const { return membership_.over(); }
  const Status& status() const { return membership_.status(); }
  std::uint64_t remade() const { return van_.counters().mended; }

 private:
  static Config config_of(Role role, Rank rank) {
    Config made;
    made.role = role;
    made.rank = rank;
    made.workers = FLAGS_members - 1;
    made.servers = 1;
    made.scheduler = FLAGS_scheduler;
    made.token = FLAGS_token;
    made.rendezvous_timeout = kPatience;
    made.job.dead_after = duration_of(FLAGS_dead_after);
    made.log_level = "silent";
    return made;
  }
  static Duration duration_of(double seconds) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }

  void on_control(LinkId link, const control::Message& message) override {
    membership_.on_control(link, message);
  }
  void on_data(LinkId, const wire::Header&, Buffer) override {}
  void on_acked(LinkId, wire::PushTag) override {}
  void on_broken(LinkId link, const Status& why) override { membership_.on_broken(link, why); }

  const Config config_;
  Van van_;
  MembershipClient membership_;
};

/// All members, on this thread.
class Crowd {
 public:
  Crowd() {
    for (Rank rank = 0; rank + 1 < FLAGS_members; ++rank)
      members_.emplace_back(Role::kWorker, rank, clock_);
    members_.emplace_back(Role::kServer, 0, clock_);
  }

  /// Steps until `is` holds for all members, or the timeout ends; returns each member's time.
  template <typename Is>
  std::vector<double> await(const Is& is) {
    const Time began = clock_.now();
    std::vector<double> took;
    std::vector<bool> seen(members_.size());
    while (took.size() < members_.size() && clock_.now() < began + kPatience) {
      std::size_t index = 0;
      for (Lightweight& member : members_) {
        member.step();
        if (!seen[index] && is(member, index)) {
          seen[index] = true;
          took.push_back(seconds(clock_.now() - began));
        }
        ++index;
      }
    }
    return took;
  }
  void pass(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end;) {
      for (Lightweight& member : members_) member.step();
    }
  }
  std::list<Lightweight>& members() { return members_; }

 private:
  const SteadyClock clock_;
  std::list<Lightweight> members_;
};

/// Ends all connections of this process to that port, at once.
void break_all(std::uint32_t port) {
  for (int number = 3; number < kMostDescriptors; ++number) {
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    if (::getpeername(number, reinterpret_cast<sockaddr*>(&peer), &size) != 0) {
      if (errno == EBADF && number > static_cast<int>(16 * FLAGS_members + 1024)) break;
      continue;
    }
    if (ntohs(peer.sin_port) == port) ::shutdown(number, SHUT_RDWR);
  }
}

double share(std::vector<double> values, double part) {
  if (values.empty()) return -1;
  std::ranges::sort(values);
  const auto place = static_cast<std::size_t>(part * static_cast<double>(values.size()));
  return values[std::min(place, values.size() - 1)];
}

std::size_t count_over(Crowd& crowd) {
  const auto over = std::ranges::count_if(crowd.members(), &Lightweight::over);
  return static_cast<std::size_t>(over);
}

void run() {
  const auto port = parse_host_port(FLAGS_scheduler).or_exit().port;
  Crowd crowd;
  const std::vector<double> joined =
      crowd.await([](const Lightweight& one, std::size_t) { return one.in(); });
  say(fmt::format("in {} after {:.2f} s", joined.size(), share(joined, 1)));
  for (std::uint32_t storm = 0; storm < FLAGS_storms; ++storm) {
    crowd.pass(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(FLAGS_calm)));
    std::vector<std::uint64_t> before;
    for (const Lightweight& one : crowd.members()) before.push_back(one.remade());
    say(fmt::format("storm {}", storm));
    break_all(static_cast<std::uint32_t>(port));
    const std::vector<double> back = crowd.await([&](const Lightweight& one, std::size_t index) {
      return one.remade() > before[index] || one.over();
    });
    say(fmt::format("back {} p50 {:.3f} p99 {:.3f} most {:.3f} lost {}", back.size(),
                    share(back, 0.5), share(back, 0.99), share(back, 1), count_over(crowd)));
  }
  crowd.pass(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(FLAGS_calm)));
  for (const Lightweight& one : crowd.members()) {
    if (!one.over()) continue;
    say(fmt::format("lost: {}", one.status().text()));
    break;
  }
  const std::size_t lost = count_over(crowd);
  // Servers stay until all workers have left, like real servers.
  Lightweight& server = crowd.members().back();
  for (Lightweight& one : crowd.members()) {
    if (&one != &server) one.leave();
  }
  const std::vector<double> workers_left = crowd.await(
      [&](const Lightweight& one, std::size_t) { return &one == &server || one.over(); });
  server.leave();
  const std::vector<double> left =
      crowd.await([](const Lightweight& one, std::size_t) { return one.over(); });
  const auto failed = std::ranges::count_if(
      crowd.members(), [](const Lightweight& one) { return !one.status().ok(); });
  for (const Lightweight& one : crowd.members()) {
    if (one.status().ok()) continue;
    say(fmt::format("failed: {}", one.status().text()));
    break;
  }
  say(fmt::format("left {} after {:.2f} s lost {} failed {}", left.size(),
                  share(workers_left, 1) + share(left, 1), lost, failed));
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  stretto::run();
}
