// SPDX-License-Identifier: Apache-2.0
// The loop over links: each link whose ring has frames gets a turn; a poll is bounded in frames.
#include "van/shm/shm_transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "common/threads/loop_owner.h"
#include "van/shm/acceptor.h"
#include "van/shm/link.h"
#include "van/transport/epoll_set.h"
#include "van/transport/poll_turns.h"

namespace stretto {
namespace shm {
namespace {

constexpr std::string_view kScheme = "shm:";
constexpr int kFramesPerPoll = 64;
constexpr int kFramesPerTurn = 16;
// Sockets are checked when the links are idle, and every kPollsBetweenLooks polls.
constexpr unsigned kPollsBetweenLooks = 16;
// The socket of a link does not signal that it has room.
constexpr Duration kRoomRetry = 1ms;
constexpr Duration kStrangersCheck = 1s;

Result<std::string> name_in(std::string_view address, bool may_be_new) {
  if (address.starts_with(kScheme)) {
    const std::string_view name = address.substr(kScheme.size());
    if (is_name(name)) return std::string(name);
    if (name.empty() && may_be_new) return random_name();
  }
  return Status(Code::kInvalidArgument,
                fmt::format("'{}' is no address, wanted shm: and {} letters or digits", address,
                            kNameLength));
}

/// Thread: loop, but for wake().
class SharedMemoryTransport final : public ShmTransport {
 public:
  explicit SharedMemoryTransport(const ShmOptions& options)
      : options_(options),
        acceptor_(options_, watch_, ids_,
                  [this](LinkId id, std::shared_ptr<Line> line) {
                    return add(id, std::move(line), false);
                  }),
        arena_(options.chunk_bytes) {}
  ~SharedMemoryTransport() override;
  Status open() { return watch_.open(); }

  Result<std::string> listen(std::string_view address) override;
  Result<LinkId> connect(std::string_view address) override;
  Result<LinkId> reach(std::string_view address) override;
  Sent try_send(LinkId link, const wire::Header& header, const Buffer& payload) override;
  void close(LinkId link) override;
  void poll(Sink& sink, Duration wait) override;
  void poll_unsignalled(Sink& sink) override;
  void wake() override { watch_.wake(); }
  std::optional<bool> has_come(Asked asked) override;
  Buffer allocate(std::size_t bytes) override;
  Copied copied() const override { return copied_; }
  bool is_local(LinkId link) const override { return links_.count(link) != 0; }
  int descriptor() const override { return watch_.descriptor(); }
  Duration may_wait(Duration wait) const override;

 private:
  using Links = std::map<LinkId, std::unique_ptr<Link>>;

  Status add(LinkId id, std::shared_ptr<Line> line, bool announced);
  void look(Duration wait);
  void hear(std::uint64_t token);
  bool deliver(Sink& sink);
  void disarm();
  void bury(LinkId id);
  void free_unread();
  /// Links that use memory: open ones, and closed ones that the peer still reads.
  std::size_t held() const { return links_.size() + unread_.size(); }

  const ShmOptions options_;
  EpollSet watch_;
  LinkIds ids_;
  Acceptor acceptor_;
  Arena arena_;
  Copied copied_;
  Doorbells bells_;
  Links links_;
  Links unread_;                             // Over, but the peer still reads memory of ours.
  std::vector<std::unique_ptr<Link>> dead_;  // Over, but perhaps on the call stack.
  std::vector<std::pair<LinkId, Status>> unreachable_;  // To be reported as broken.
  LinkId last_served_ = 0;
  mutable bool armed_ = false;  // Peers have been asked to ring.
  bool woken_ = false;
  bool polling_ = false;
  unsigned polls_ = 0;
  LoopOwner owner_;
};

SharedMemoryTransport::~SharedMemoryTransport() {
  for (auto& [id, link] : links_) link->close();
}

// ---- addresses

Result<std::string> SharedMemoryTransport::listen(std::string_view address) {
  if (acceptor_.listens()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("wanted to listen at '{}', but this transport listens at {}{} "
                              "already; make another transport",
                              address, kScheme, acceptor_.name()));
  }
  Result<std::string> name = name_in(address, true);
  if (!name.ok()) return name;
  if (Status status = acceptor_.listen(*std::move(name)); !status.ok()) return status;
  return fmt::format("{}{}", kScheme, acceptor_.name());
}

Result<LinkId> SharedMemoryTransport::connect(std::string_view address) {
  if (Result<std::string> name = name_in(address, false); !name.ok()) return name.status();
  Result<LinkId> link = reach(address);
  if (link.ok() || link.status().code() == Code::kResource) return link;
  const LinkId id = ids_.next();
  unreachable_.emplace_back(
      id, Status(Code::kLinkBroken, fmt::format("no connection to {} could be made: {}", address,
                                                link.status().cause())));
  return id;
}

Result<LinkId> SharedMemoryTransport::reach(std::string_view address) {
  Result<std::string> name = name_in(address, false);
  if (!name.ok()) return name.status();
  if (held() >= options_.max_links) {
    return Status(
        Code::kResource,
        fmt::format("wanted to connect to '{}', but {} links are open, which is the limit; "
                    "raise max_links",
                    address, held()));
  }
  Result<std::shared_ptr<Line>> line = Line::connect(*name);
  if (!line.ok()) return line.status();
  const LinkId id = ids_.next();
  if (Status status = add(id, *std::move(line), true); !status.ok()) return status;
  return id;
}

Status SharedMemoryTransport::add(LinkId id, std::shared_ptr<Line> line, bool announced) {
  if (Status status = watch_.add(line->socket().get(), id); !status.ok()) return status;
  links_[id] = std::make_unique<Link>(id, std::move(line),
                                      Link::Shared{arena_, options_, copied_, bells_}, announced);
  return {};
}

// ---- frames

Transport::Sent SharedMemoryTransport::try_send(LinkId link, const wire::Header& header,
                                                const Buffer& payload) {
  owner_.check_if_owned();
  const auto found = links_.find(link);
  return found == links_.end() ? Sent::kBroken : found->second->send(header, payload);
}

Buffer SharedMemoryTransport::allocate(std::size_t bytes) {
  Result<Buffer> block = arena_.allocate(bytes);
  return block.ok() ? *std::move(block) : Buffer::allocate(bytes);
}

void SharedMemoryTransport::close(LinkId link) {
  std::erase_if(unreachable_, [link](const auto& one) { return one.first == link; });
  if (links_.count(link) != 0) bury(link);
}

void SharedMemoryTransport::bury(LinkId id) {
  auto node = links_.extract(id);
  std::unique_ptr<Link>& link = node.mapped();
  link->close();
  if (link->is_read()) {
    unread_[id] = std::move(link);
    return;
  }
  watch_.remove(link->descriptor());
  if (polling_) dead_.push_back(std::move(link));
}

// Links whose memory the peer no longer reads.
void SharedMemoryTransport::free_unread() {
  for (auto one = unread_.begin(); one != unread_.end();) {
    if (one->second->is_read()) {
      ++one;
      continue;
    }
    watch_.remove(one->second->descriptor());
    dead_.push_back(std::move(one->second));
    one = unread_.erase(one);
  }
}

// ---- poll

void SharedMemoryTransport::poll(Sink& sink, Duration wait) {
  owner_.check();
  {
    const Polling polling(polling_);
    if (armed_ || ++polls_ % kPollsBetweenLooks == 0) look(Duration::zero());
    if (!deliver(sink)) {
      if (!woken_) look(may_wait(wait));
      deliver(sink);
    }
    woken_ = false;
    free_unread();
  }
  dead_.clear();
}

// No doorbell has rung: reads the links but not their sockets.
void SharedMemoryTransport::poll_unsignalled(Sink& sink) {
  owner_.check();
  {
    const Polling polling(polling_);
    disarm();
    acceptor_.tick();
    deliver(sink);
    free_unread();
  }
  dead_.clear();
}

std::optional<bool> SharedMemoryTransport::has_come(Asked asked) {
  if (asked == Asked::kSystem) return watch_.has_come();
  return !unreachable_.empty() ||
         std::ranges::any_of(links_, [](const auto& one) { return one.second->has_come(); });
}

Duration SharedMemoryTransport::may_wait(Duration wait) const {
  if (wait <= Duration::zero()) return Duration::zero();
  if (!unreachable_.empty()) return Duration::zero();
  armed_ = true;
  for (const auto& [id, link] : links_) {
    if (!link->arm()) return Duration::zero();
    if (link->awaits_socket()) wait = std::min(wait, kRoomRetry);
  }
  return acceptor_.is_timed() ? std::min(wait, kStrangersCheck) : wait;
}

void SharedMemoryTransport::disarm() {
  if (!std::exchange(armed_, false)) return;
  for (const auto& [id, link] : links_) link->disarm();
}

void SharedMemoryTransport::look(Duration wait) {
  const std::vector<std::uint64_t> tokens = watch_.wait(wait, woken_);
  disarm();
  for (const std::uint64_t token : tokens) hear(token);
  acceptor_.tick();
}

void SharedMemoryTransport::hear(std::uint64_t token) {
  if (token == Acceptor::kToken) {
    return acceptor_.accept(options_.max_links - std::min(options_.max_links, held()));
  }
  const auto id = static_cast<LinkId>(token);
  if (const auto link = links_.find(id); link != links_.end())
    return static_cast<void>(link->second->hear());
  if (const auto link = unread_.find(id); link != unread_.end())
    return static_cast<void>(link->second->hear());
  acceptor_.hear(id);
}

bool SharedMemoryTransport::deliver(Sink& sink) {
  const Doorbells::PutOff bells_put_off(bells_);
  bool called = !unreachable_.empty();
  for (auto& [id, why] : std::exchange(unreachable_, {})) sink.on_broken(id, std::move(why));
  int left = kFramesPerPoll;
  // Round robin, from the link after the last: callbacks may add links and close them.
  for (bool found = true; found && left > 0;) {
    found = false;
    for (std::size_t turns = links_.size(); turns > 0 && left > 0 && !links_.empty(); --turns) {
      auto next = links_.upper_bound(last_served_);
      if (next == links_.end()) next = links_.begin();
      last_served_ = next->first;
      Link& link = *next->second;
      const Turn turn = link.receive(sink, std::min(left, kFramesPerTurn));
      called = called || turn.called;
      found = found || turn.frames > 0;
      left -= turn.frames;
      if (link.over() && links_.count(last_served_) != 0) bury(last_served_);
    }
  }
  return called;
}

}  // namespace
}  // namespace shm

Result<std::unique_ptr<ShmTransport>> make_shm_transport(const ShmOptions& options) {
  // Tests now, not at the first link, whether this system supports arenas and lines.
  if (const Result<Buffer> probe = shm::Arena(1).allocate(1); !probe.ok()) return probe.status();
  auto transport = std::make_unique<shm::SharedMemoryTransport>(options);
  if (Status status = transport->open(); !status.ok()) return status;
  return std::unique_ptr<ShmTransport>(std::move(transport));
}

}  // namespace stretto
