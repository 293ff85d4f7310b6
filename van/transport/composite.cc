// SPDX-License-Identifier: Apache-2.0
// Parts are polled round robin without waiting; the composite waits with one epoll over all of
// their descriptors, and only a part whose descriptor is readable polls its own. A composite's link
// id maps to a part and the part's link id.
#include "van/transport/composite.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/check.h"
#include "common/log.h"
#include "common/network/address.h"
#include "common/threads/loop_owner.h"
#include "van/transport/epoll_set.h"
#include "van/transport/poll_turns.h"

namespace stretto {
namespace {

/// Thread: loop, but for wake().
class Composite final : public Transport {
 public:
  Composite(std::unique_ptr<Transport> everywhere, std::vector<Way> ways, CompositeOptions options);
  Status open();

  Result<std::string> listen(std::string_view address) override;
  Result<LinkId> connect(std::string_view address) override;
  Sent try_send(LinkId link, const wire::Header& header, const Buffer& payload) override;
  void admit(LinkId link) override;
  void close(LinkId link) override;
  void poll(Sink& sink, Duration wait) override;
  void wake() override { watch_.wake(); }
  std::optional<bool> has_come(Asked asked) override;
  void flush() override;
  Buffer allocate(std::size_t bytes) override;
  Copied copied() const override;
  void set_dead_after(Duration limit) override;
  bool is_local(LinkId link) const override;
  std::optional<RoundTrips> round_trips(LinkId link) const override;
  bool is_made(LinkId link) const override;
  bool ends_with_process(LinkId link) const override;
  bool lingers() const override;
  int descriptor() const override { return watch_.descriptor(); }
  Duration may_wait(Duration wait) const override;

 private:
  // A transport and its links by its own ids. As its sink it forwards calls to our sink.
  class Part final : public Sink {
   public:
    Part(Composite& owner, std::unique_ptr<Transport> made)
        : transport(std::move(made)), owner_(owner) {}
    /// True if the sink was called.
    bool poll(Sink& sink);

    bool signalled = false;  // Its descriptor is readable.
    const std::unique_ptr<Transport> transport;
    std::unordered_map<LinkId, LinkId> links;  // From the part's ids to ours.

   private:
    void on_link(LinkId link) override;
    void on_frame(LinkId link, wire::HeaderView header, Buffer payload) override;
    void on_broken(LinkId link, Status why) override;
    void on_writable(LinkId link) override;

    Composite& owner_;
    Sink* sink_ = nullptr;  // Only inside poll().
    bool called_ = false;
  };
  struct Place {
    Part* part = nullptr;
    LinkId link = 0;
  };

  LinkId add(Part& part, LinkId link);
  std::string listen_by_ways(std::string_view asked, std::string address);
  Result<LinkId> connect_by_ways(std::string_view address);
  bool poll_parts(Sink& sink);

  const CompositeOptions options_;
  std::vector<Way> ways_;                     // Their transports have moved to parts_.
  std::vector<std::unique_ptr<Part>> parts_;  // The first reaches all; the others match ways_.
  std::unordered_map<LinkId, Place> places_;
  LinkId last_id_ = 0;
  std::string address_;
  EpollSet watch_;
  bool woken_ = false;
  bool polling_ = false;
  std::size_t first_ = 0;  // The part that is polled first.
  LoopOwner owner_;
};

Composite::Composite(std::unique_ptr<Transport> everywhere, std::vector<Way> ways,
                     CompositeOptions options)
    : options_(std::move(options)), ways_(std::move(ways)) {
  parts_.push_back(std::make_unique<Part>(*this, std::move(everywhere)));
  for (Way& way : ways_) {
    parts_.push_back(std::make_unique<Part>(*this, std::move(way.transport)));
  }
}

Status Composite::open() {
  if (Status status = watch_.open(); !status.ok()) return status;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    STRETTO_CHECK(parts_[i]->transport->descriptor() >= 0);
    Status status = watch_.add(parts_[i]->transport->descriptor(), i + 1);
    if (!status.ok()) return status;
  }
  return {};
}

// ---- links

LinkId Composite::add(Part& part, LinkId link) {
  places_[++last_id_] = {&part, link};
  part.links[link] = last_id_;
  return last_id_;
}

Result<std::string> Composite::listen(std::string_view address) {
  if (!address_.empty()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("wanted to listen at '{}', but this transport listens at {} already; "
                              "make another transport",
                              address, address_));
  }
  Result<std::string> bound = parts_.front()->transport->listen(host_port_of(address));
  if (!bound.ok()) {
    return Status(bound.status().code(),
                  fmt::format("cannot listen at '{}': {}", address, bound.status().cause()));
  }
  address_ = listen_by_ways(address, *std::move(bound));
  return address_;
}

// A transport that cannot listen is left out of the address.
std::string Composite::listen_by_ways(std::string_view asked, std::string address) {
  for (const Way& way : ways_) {
    const Result<std::string> where = way.listen(way_in(asked, way.name));
    if (where.ok()) {
      address = with_way(address, way.name, *where);
    } else {
      log(Level::kWarning, "cannot be reached by {}: {}", way.name, where.status().cause());
    }
  }
  return address;
}

Result<LinkId> Composite::connect(std::string_view address) {
  Result<LinkId> better = connect_by_ways(address);
  const bool must = !options_.required_way.empty() && address != options_.exempt_address;
  if (better.ok() || must) return better;
  Result<LinkId> link = parts_.front()->transport->connect(host_port_of(address));
  if (!link.ok()) return link;
  return add(*parts_.front(), *link);
}

Result<LinkId> Composite::connect_by_ways(std::string_view address) {
  Status why(Code::kUnsupported, "it does not offer that way");
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    if (!options_.required_way.empty() && ways_[i].name != options_.required_way) continue;
    const std::string_view where = way_in(address, ways_[i].name);
    if (where.empty()) continue;
    const Result<LinkId> link = ways_[i].reach(where);
    if (link.ok()) return add(*parts_[i + 1], *link);
    why = link.status();
    log(Level::kDebug, "{} is not reached by {}: {}", host_port_of(address), ways_[i].name,
        why.cause());
  }
  return Status(Code::kUnsupported,
                fmt::format("cannot connect to {} by {}, as STRETTO_TRANSPORT={} asks: {}; is it "
                            "on this host, and in the same container?",
                            host_port_of(address), options_.required_way, options_.required_way,
                            why.cause()));
}

Transport::Sent Composite::try_send(LinkId link, const wire::Header& header,
                                    const Buffer& payload) {
  owner_.check_if_owned();
  const auto found = places_.find(link);
  if (found == places_.end()) return Sent::kBroken;
  return found->second.part->transport->try_send(found->second.link, header, payload);
}

void Composite::admit(LinkId link) {
  const auto found = places_.find(link);
  if (found != places_.end()) found->second.part->transport->admit(found->second.link);
}

void Composite::close(LinkId link) {
  const auto found = places_.find(link);
  if (found == places_.end()) return;
  const Place place = found->second;
  places_.erase(found);
  place.part->links.erase(place.link);
  place.part->transport->close(place.link);
}

bool Composite::lingers() const {
  return std::ranges::any_of(parts_, [](const auto& part) { return part->transport->lingers(); });
}

void Composite::set_dead_after(Duration limit) {
  for (const auto& part : parts_) part->transport->set_dead_after(limit);
}

bool Composite::is_local(LinkId link) const {
  const auto found = places_.find(link);
  return found != places_.end() && found->second.part->transport->is_local(found->second.link);
}

std::optional<Transport::RoundTrips> Composite::round_trips(LinkId link) const {
  const auto found = places_.find(link);
  if (found == places_.end()) return std::nullopt;
  return found->second.part->transport->round_trips(found->second.link);
}

bool Composite::is_made(LinkId link) const {
  const auto found = places_.find(link);
  return found != places_.end() && found->second.part->transport->is_made(found->second.link);
}

bool Composite::ends_with_process(LinkId link) const {
  const auto found = places_.find(link);
  return found != places_.end() &&
         found->second.part->transport->ends_with_process(found->second.link);
}

// ---- memory

// Memory of the first local transport in use; links over other transports send it as well.
Buffer Composite::allocate(std::size_t bytes) {
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    if (!parts_[i]->links.empty()) return parts_[i]->transport->allocate(bytes);
  }
  return parts_.front()->transport->allocate(bytes);
}

Transport::Copied Composite::copied() const {
  Copied all;
  for (const auto& part : parts_) {
    const Copied one = part->transport->copied();
    all.sent += one.sent;
    all.received += one.received;
  }
  return all;
}

// ---- poll

void Composite::poll(Sink& sink, Duration wait) {
  owner_.check();
  const Polling polling(polling_);
  // Polls first what is known and flushes waiting frames: a busy part must not keep the others from
  // being polled.
  const bool called = poll_parts(sink);
  const Duration at_most = called ? Duration::zero() : may_wait(wait);
  for (const std::uint64_t token : watch_.wait(at_most, woken_)) {
    parts_[static_cast<std::size_t>(token) - 1]->signalled = true;
  }
  poll_parts(sink);
}

// The watch has the descriptors of all parts.
std::optional<bool> Composite::has_come(Asked asked) {
  if (asked == Asked::kSystem) return watch_.has_come();
  bool come = false;
  for (const auto& part : parts_) {
    const std::optional<bool> here = part->transport->has_come(Asked::kMemory);
    if (!here) return std::nullopt;
    come = come || *here;
  }
  return come;
}

void Composite::flush() {
  for (const auto& part : parts_) part->transport->flush();
}

Duration Composite::may_wait(Duration wait) const {
  for (const auto& part : parts_) wait = std::min(wait, part->transport->may_wait(wait));
  return wait;
}

bool Composite::poll_parts(Sink& sink) {
  bool called = false;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    called = parts_[(first_ + i) % parts_.size()]->poll(sink) || called;
  }
  first_ = (first_ + 1) % parts_.size();
  return called;
}

bool Composite::Part::poll(Sink& sink) {
  sink_ = &sink;
  called_ = false;
  if (std::exchange(signalled, false)) {
    transport->poll(*this, Duration::zero());
  } else {
    transport->poll_unsignalled(*this);
  }
  sink_ = nullptr;
  return called_;
}

void Composite::Part::on_link(LinkId link) {
  called_ = true;
  sink_->on_link(owner_.add(*this, link));
}

void Composite::Part::on_frame(LinkId link, wire::HeaderView header, Buffer payload) {
  called_ = true;
  sink_->on_frame(links.at(link), header, std::move(payload));
}

void Composite::Part::on_broken(LinkId link, Status why) {
  called_ = true;
  const auto node = links.extract(link);
  owner_.places_.erase(node.mapped());
  sink_->on_broken(node.mapped(), std::move(why));
}

void Composite::Part::on_writable(LinkId link) {
  called_ = true;
  sink_->on_writable(links.at(link));
}

}  // namespace

Result<std::unique_ptr<Transport>> make_composite_transport(std::unique_ptr<Transport> everywhere,
                                                            std::vector<Way> ways,
                                                            CompositeOptions options) {
  auto composite =
      std::make_unique<Composite>(std::move(everywhere), std::move(ways), std::move(options));
  if (Status status = composite->open(); !status.ok()) return status;
  return std::unique_ptr<Transport>(std::move(composite));
}

}  // namespace stretto
