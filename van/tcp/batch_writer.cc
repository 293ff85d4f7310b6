// SPDX-License-Identifier: Apache-2.0
// Moves frames from the batch to the output buffer, and from there to the kernel.
#include "van/tcp/batch_writer.h"

#include <utility>

namespace stretto::tcp {

Transport::Sent BatchWriter::send(LinkId link, const wire::Header& header, const Buffer& payload) {
  using enum Transport::Sent;
  Connection* connection = table_.find(link);
  if (connection == nullptr || connection->broken) return kBroken;
  if (connection->full) return kFull;
  if (FrameBatch::takes(payload)) {
    connection->batch.add(header, payload);
    if (!std::exchange(connection->batched, true)) batched_.push_back(link);
    if (connection->batch.full() && connection->flush()) write(*connection);
    return connection->broken ? kBroken : kTaken;
  }
  connection->flush();  // The batch is sent first, by the same call.
  connection->output().add(header, payload);
  write(*connection);
  return connection->broken ? kBroken : kTaken;
}

// A failed allocation's exception leaves the list unchanged; the next call serves the rest.
void BatchWriter::flush() {
  for (const LinkId link : batched_) {
    Connection* connection = table_.find(link);
    if (connection != nullptr && connection->flush()) write(*connection);
  }
  batched_.clear();
}

void BatchWriter::write(Connection& connection) {
  if (connection.stage() >= Connection::Stage::kGreeting) {
    const bool wants_room = !connection.write();
    if (connection.broken) return table_.make_ready(connection);
    if (wants_room != std::exchange(connection.writes, wants_room)) {
      watch_.want_room(connection.descriptor(), connection.link, wants_room);
    }
  }
  const std::size_t waiting = connection.output().messages();
  if (waiting >= most_waiting_) connection.full = true;
  if (connection.full && waiting <= most_waiting_ / 2) {
    connection.full = false;
    roomy_.push_back(connection.link);
  }
}

void BatchWriter::offer_room(Transport::Sink& sink) {
  // Links added by callbacks wait for the next call; so do the others after an exception.
  for (std::size_t left = roomy_.size(); left > 0; --left) {
    const LinkId link = roomy_.front();
    roomy_.pop_front();
    const Connection* connection = table_.find(link);
    if (connection != nullptr && !connection->full) sink.on_writable(link);
  }
}

}  // namespace stretto::tcp
