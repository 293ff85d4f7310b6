// SPDX-License-Identifier: Apache-2.0
// The exchange of tensors with a codec: a share is encoded before its frame is queued, and a value
// is decoded before its part is done. Meanwhile the part is busy, so nothing overtakes. Encodings
// take memory, so an operation has few at a time: the next ones are made as the far end takes them.
#include <fmt/format.h>

#include "worker/exchange.h"

namespace stretto {

// The share goes through its codec first, when there is room.
void Exchange::encode(TensorState& tensor, const wire::Header& header,
                      const std::shared_ptr<Operation>& operation) {
  tensor.parts[header.key.part].encoding = true;
  operation->to_encode.push_back(header);
  encode_more(tensor, operation);
}

void Exchange::encode_more(TensorState& tensor, const std::shared_ptr<Operation>& operation) {
  while (!operation->to_encode.empty()) {
    const wire::Header header = operation->to_encode.front();
    Part& part = tensor.parts[header.key.part];
    const std::size_t bytes = part.coder->encoded_bytes(tensor.cut.bytes_of_part(header.key.part));
    const std::size_t taken = operation->encoded_bytes;
    if (taken > 0 && taken + bytes > most_encoded_) return;
    operation->to_encode.pop_front();
    operation->encoded_bytes += bytes;
    part.encoded_bytes = bytes;
    encode_part(tensor, header, operation);
  }
}

// The far end has taken the part's share, or answered it: the next one may be encoded.
void Exchange::free_encoding(TensorState& tensor, const wire::Key& key) {
  Part& part = tensor.parts[key.part];
  const std::size_t bytes = std::exchange(part.encoded_bytes, 0);
  const std::shared_ptr<Operation> operation = part.lanes[kShares].current;
  if (bytes == 0 || operation == nullptr) return;
  operation->encoded_bytes -= bytes;
  encode_more(tensor, operation);
}

// The user's memory is leased until the share is encoded.
void Exchange::encode_part(TensorState& tensor, const wire::Header& header,
                           const std::shared_ptr<Operation>& operation) {
  const std::uint32_t index = header.key.part;
  struct Job {
    Buffer source;
    Buffer encoded;
    Worked worked;
  };
  const std::size_t bytes = tensor.cut.bytes_of_part(index);
  const std::shared_ptr<PartCoder>& coder = tensor.parts[index].coder;
  const auto job = std::make_shared<Job>();
  job->source = lease(operation, operation->source.subspan(tensor.cut.offset_of(index), bytes));
  job->encoded = van_.allocate(coder->encoded_bytes(bytes));
  coder_->run(
      {operation->id, bytes, {operation->priority, operation->deadline_wanted}},
      [job, coder, round = header.version, &clock = clock_] {
        job->worked.begin = clock.now();
        coder->encode(job->source.bytes(), round, job->encoded.writable());
        job->source = Buffer();
        job->worked.end = clock.now();
      },
      [this, job, header, operation] {
        note_codec(header, job->worked);
        send_encoded(header, operation, std::move(job->encoded));
      });
}

// Of the user's bytes: what comes out shows where it is sent.
void Exchange::note_codec(const wire::Header& header, const Worked& worked) const {
  if (tracer_ == nullptr || !tracer_->on()) return;
  TraceRecord record;
  const bool value = header.kind == wire::Kind::kValue;
  record.begin_ns = trace_time(worked.begin);
  record.end_ns = trace_time(worked.end);
  record.round = value ? header.own_applied : header.version;
  record.tensor = header.key.tensor;
  record.part = header.key.part;
  record.bytes =
      static_cast<std::uint32_t>(tensors_.at(header.key.tensor).cut.bytes_of_part(header.key.part));
  record.priority = header.priority;
  record.kind = TraceKind::kCodec;
  record.frame = static_cast<std::uint8_t>(header.kind);
  tracer_->note(record);
}

void Exchange::send_encoded(const wire::Header& header, const std::shared_ptr<Operation>& operation,
                            Buffer encoded) {
  TensorState& tensor = tensors_.at(header.key.tensor);
  Part& part = tensor.parts[header.key.part];
  part.encoding = false;
  if (part.lanes[kShares].current != operation) return;  // The tensor has failed meanwhile.
  wire::Header sent = header;
  sent.codec = static_cast<std::uint8_t>(tensor.spec.options.codec->codec);
  sent.priority = operation->priority;
  van_.send(part.link, sent, std::move(encoded),
            {.tag = operation->id,
             .deadline = operation->deadline_wanted,
             .bulk = tensor.spec.options.bulk});
  if (operation->paused) van_.pause(operation->id);
}

Status Exchange::check_value(const TensorState& tensor, const wire::Header& header,
                             const Buffer& payload) {
  const std::uint32_t index = header.key.part;
  const std::size_t bytes = tensor.cut.bytes_of_part(index);
  const bool same_type = header.dtype == static_cast<std::uint8_t>(tensor.spec.dtype);
  Status status;
  if (header.codec != 0 && same_type && tensor.parts[index].coder != nullptr) {
    status = tensor.parts[index].coder->check(static_cast<Codec>(header.codec), bytes, payload);
  } else if (header.codec != 0 || !same_type || payload.size() != bytes) {
    status = {Code::kMalformed,
              fmt::format("a value of {} bytes came, wanted {}", payload.size(), bytes)};
  }
  if (status.ok()) return {};
  return {status.code(),
          fmt::format("tensor '{}', part {}: {}", tensor.spec.name, index, status.cause())};
}

// Into the user's memory, which is leased until that is done.
void Exchange::decode(TensorState& tensor, const wire::Header& header, const Buffer& payload) {
  const std::uint32_t index = header.key.part;
  Part& part = tensor.parts[index];
  const std::shared_ptr<Operation> operation = part.lanes[lane_of(tensor, header)].current;
  const std::size_t bytes = tensor.cut.bytes_of_part(index);
  const auto target = operation->target.subspan(tensor.cut.offset_of(index), bytes);
  const auto held = std::make_shared<Buffer>(lease(operation, target));
  const auto worked = std::make_shared<Worked>();
  part.decoding = true;
  coder_->run(
      {operation->id, bytes, {operation->priority, operation->deadline_wanted}},
      [held, payload, target, worked, coder = part.coder, &clock = clock_] {
        worked->begin = clock.now();
        coder->decode(payload.bytes(), target);
        *held = Buffer();
        worked->end = clock.now();
      },
      [this, header, operation, worked] {
        note_codec(header, *worked);
        TensorState& known = tensors_.at(header.key.tensor);
        Part& decoded = known.parts[header.key.part];
        decoded.decoding = false;
        if (decoded.lanes[lane_of(known, header)].current == operation) take_value(known, header);
      });
}

}  // namespace stretto
