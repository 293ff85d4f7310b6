// SPDX-License-Identifier: Apache-2.0
// Transport: what Stretto asks of anything that moves frames. TCP, shared memory, inproc and the
// simulator's network are transports, and libfabric where it is there. Every one passes the same
// suite, tests/conformance.
//
//   transport.listen("127.0.0.1:0")            -> "127.0.0.1:40123"
//   link = transport.connect("127.0.0.1:40123")
//   transport.try_send(link, header, payload)  -> kTaken
//   transport.poll(sink, 10ms)                 at the far end: on_link once, then on_frame
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/memory/buffer.h"
#include "stretto/status.h"
#include "stretto/types.h"
#include "van/wire/header.h"

namespace stretto {

/// A connection, as one endpoint names it. Never used twice by the same transport; 0 is none.
using LinkId = std::uint32_t;

/// Thread: loop, but for wake(). Frames arrive whole and in the order sent, or the link is reported
/// broken, once; after that report nothing more comes from it. All callbacks happen inside poll(),
/// on the caller's thread.
class Transport {
 public:
  /// Who takes what arrives. A callback may call try_send, connect and close, but not poll.
  class Sink {
   public:
    virtual ~Sink() = default;
    /// Somebody connected to our address. Comes before any frame of that link, and may come only
    /// when the first frame does.
    virtual void on_link(LinkId link) = 0;
    /// A frame. `payload` is a lease; it may outlive the call, and is writable if its memory is
    /// ours alone. The header is bytes from outside: nothing in it has been checked but that the
    /// frame was as long as a header at least, and that the payload is within the limit.
    virtual void on_frame(LinkId link, wire::HeaderView header, Buffer payload) = 0;
    /// The link has ended and why: kLinkBroken; kTimeout if its path was silent for too long;
    /// kRefused if the far end's host says that nobody listens there; kNetwork if the far end was
    /// not reached. Others end it for good. Not called for a link that we closed ourselves.
    virtual void on_broken(LinkId link, Status why) = 0;
    /// A link that answered kFull may take frames again.
    virtual void on_writable(LinkId link) = 0;
  };

  enum class Sent {
    kTaken,  ///< The transport holds the lease until the bytes have left, then ends it, once.
    kFull,   ///< Nothing was taken; on_writable will say when to try again.
    kBroken  ///< The link has ended; on_broken says so in the next poll, unless it did already.
  };

  virtual ~Transport() = default;

  /// Accepts connections at `address` (host:port; port 0 picks a free one). At most once. Returns
  /// the address that others can connect to.
  virtual Result<std::string> listen(std::string_view address) = 0;
  /// Starts a connection. It may be used at once; if it cannot be made it is reported broken.
  virtual Result<LinkId> connect(std::string_view address) = 0;
  /// Hands a frame to the link. `header.bytes` equals `payload.size()`. Never blocks. The payload's
  /// lease is copied if the frame is taken. Small frames may leave together, at the next poll().
  virtual Sent try_send(LinkId link, const wire::Header& header, const Buffer& payload) = 0;
  /// The far end of an accepted link has shown that it may be there. Until then a transport that
  /// strangers can reach lets it have little memory and little time. Unknown links are ignored.
  virtual void admit(LinkId) {}
  /// Ends a link at once: what has not left is dropped (its leases end soon, perhaps on another
  /// thread), nothing more arrives, the far end sees it broken. Unknown links are ignored.
  virtual void close(LinkId link) = 0;
  /// Delivers what has come; waits for something until `wait` has passed (0: does not wait, which
  /// the simulator relies on). Returns after a bounded number of frames, so that the caller's turn
  /// is bounded.
  virtual void poll(Sink& sink, Duration wait) = 0;
  /// Makes a poll that waits, or the next one, return soon. Thread: any.
  virtual void wake() = 0;

  // For who looks again and again before it waits in poll().

  /// Whom has_come() asks: memory alone, or the system, for what sockets and wake() have brought.
  enum class Asked : std::uint8_t { kMemory, kSystem };
  /// True if poll() would find something, as far as who is asked knows; what one does not know the
  /// other does. None if nobody can tell. The sink is not called, far ends are not asked to ring,
  /// and poll() still finds it afterwards.
  virtual std::optional<bool> has_come(Asked) { return std::nullopt; }
  /// What would leave at the next poll() leaves.
  virtual void flush() {}
  /// True while links that were closed have yet to be told to their far ends, which poll() does.
  /// Not for long: a far end that stands still is not waited for.
  virtual bool lingers() const { return false; }

  /// Writable memory that this transport sends without copying it, if there is such; else any. It
  /// may outlive the transport. Thread: loop.
  virtual Buffer allocate(std::size_t bytes) { return Buffer::allocate(bytes); }
  /// Bytes of payload that this transport itself has copied, to send them and when they came; what
  /// lies below it (libraries, kernel, network) is not counted.
  struct Copied {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
  };
  virtual Copied copied() const { return {}; }
  /// For how long a path may be dead, as PathLiveness has it, before its link is reported broken.
  virtual void set_dead_after(Duration) {}
  /// True if the far end is on this host: then no network that others share lies between.
  virtual bool is_local(LinkId) const { return false; }
  /// False while a link that this end makes waits for its far end: nothing has arrived there yet.
  virtual bool is_made(LinkId) const { return true; }
  /// Of the link's packets, as the kernel measures them: they end where a relay does.
  struct RoundTrips {
    Duration least{};
    Duration smoothed{};  ///< Of recent ones, with what they waited in queues (RFC 6298).
  };
  /// None if no kernel's connection carries the link.
  virtual std::optional<RoundTrips> round_trips(LinkId) const { return std::nullopt; }
  /// True if only the far end's process can end the link: no network lies between that could.
  virtual bool ends_with_process(LinkId) const { return false; }

  // For a transport that is made of others, and waits for all of them at once.

  /// Readable when poll() has something to do; -1: this transport can only wait by itself.
  virtual int descriptor() const { return -1; }
  /// How long one may wait for the descriptor instead of calling poll(), at most `wait`: zero if
  /// there is something to do that the descriptor does not show.
  virtual Duration may_wait(Duration wait) const { return wait; }
  /// poll() without a wait, for who has just found that the descriptor is not readable: nobody need
  /// ask the system again.
  virtual void poll_unsignalled(Sink& sink) { poll(sink, Duration::zero()); }
};

}  // namespace stretto
