// SPDX-License-Identifier: Apache-2.0
// Requests one piece after another, and checks every answer.
#include "worker/server_path/optimizer_state_transfer.h"

#include <fmt/core.h>

#include <algorithm>

#include "worker/server_path/optimizer_state_block.h"

namespace stretto {
namespace {

constexpr std::size_t kPieceBytes = control::StatePiece::kMaxBytes;
// Above what any rule keeps of the largest part: two arrays of twice its elements' size.
constexpr std::uint64_t kMostOfAPart = std::uint64_t{8} * wire::kMaxPartBytes;

Status unwanted(const char* what) {
  return {Code::kMalformed, fmt::format("a server answered with {}", what)};
}

}  // namespace

void OptimizerStateTransfer::save(Target target, Saved done) {
  Transfer transfer{.target = std::move(target), .done = std::move(done), .to_set = {}};
  transfer.block = begin_state_block(transfer.target.spec, transfer.target.part_bytes);
  add(std::move(transfer));
}

void OptimizerStateTransfer::load(Target target, std::span<const std::byte> block,
                                  const Loaded& done) {
  auto parts = parts_of_state_block(block, target.spec, target.part_bytes, target.links.size());
  if (!parts.ok()) return done(parts.status());
  const Saved told = [done](const Result<Bytes>& result) { done(result.status()); };
  add({.target = std::move(target), .done = told, .sets = true, .to_set = *std::move(parts)});
}

void OptimizerStateTransfer::add(Transfer transfer) {
  transfer.deadline = after(clock_.now(), patience_);
  transfers_.push_back(std::move(transfer));
  if (transfers_.size() == 1) go_on();
}

// Requests the next piece of the first transfer, or ends it and continues with the next one.
void OptimizerStateTransfer::go_on() {
  while (!transfers_.empty() && !ask(transfers_.front())) end({});
}

// False if there is nothing more to request.
bool OptimizerStateTransfer::ask(Transfer& transfer) {
  const auto is_set = [&] { return transfer.offset == transfer.to_set[transfer.part].size(); };
  while (transfer.sets && transfer.part < transfer.to_set.size() && is_set()) {
    ++transfer.part;
    transfer.offset = 0;
  }
  if (transfer.part == transfer.target.links.size()) return false;
  control::StateRequest request{.number = ++asked_,
                                .tensor = transfer.target.tensor,
                                .part = transfer.part,
                                .offset = transfer.offset};
  if (transfer.sets) {
    const std::span<const std::byte> all = transfer.to_set[transfer.part];
    const std::span<const std::byte> piece = all.subspan(
        transfer.offset, std::min<std::uint64_t>(kPieceBytes, all.size() - transfer.offset));
    request.total = all.size();
    request.set.assign(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  van_.send_control(transfer.target.links[transfer.part], request);
  return true;
}

void OptimizerStateTransfer::on_piece(const control::StatePiece& piece) {
  if (transfers_.empty() || piece.number != asked_) return;  // It answers an ended transfer.
  Transfer& transfer = transfers_.front();
  if (Status status = take(transfer, piece); !status.ok()) end(status);
  go_on();
}

void OptimizerStateTransfer::move(LinkId from, LinkId to) {
  for (Transfer& transfer : transfers_) {
    const bool asks = &transfer == &transfers_.front() &&
                      transfer.part < transfer.target.links.size() &&
                      transfer.target.links[transfer.part] == from;
    std::ranges::replace(transfer.target.links, from, to);
    if (asks) ask(transfer);
  }
}

Status OptimizerStateTransfer::take(Transfer& transfer, const control::StatePiece& piece) {
  if (!piece.why.ok()) return piece.why;
  if (transfer.sets) {
    const std::uint64_t left = transfer.to_set[transfer.part].size() - transfer.offset;
    transfer.offset += std::min<std::uint64_t>(kPieceBytes, left);
    return {};
  }
  const std::uint64_t end = transfer.offset + piece.piece.size();
  if (end > piece.total || piece.total > kMostOfAPart) return unwanted("more than there is");
  if (piece.piece.empty() && end < piece.total) return unwanted("nothing of what there is");
  if (transfer.version.value_or(piece.version) != piece.version) {
    return {Code::kMismatch,
            fmt::format("tensor '{}' has gone on while its state was read, from version {} to {}; "
                        "save it while no worker has a share in flight, as behind a barrier",
                        transfer.target.spec.name, *transfer.version, piece.version)};
  }
  transfer.version = piece.version;
  const auto bytes = std::as_bytes(std::span(piece.piece));
  transfer.come.insert(transfer.come.end(), bytes.begin(), bytes.end());
  transfer.offset = end;
  if (end < piece.total) return {};
  append_to_state_block(transfer.block, transfer.come);
  transfer.come.clear();
  transfer.offset = 0;
  ++transfer.part;
  return {};
}

void OptimizerStateTransfer::tick() {
  if (transfers_.empty() || clock_.now() < transfers_.front().deadline) return;
  end({Code::kTimeout,
       fmt::format("the state of tensor '{1}' was not through in time: part {0} is in flight",
                   transfers_.front().part, transfers_.front().target.spec.name)});
  go_on();
}

void OptimizerStateTransfer::end(const Status& why) {
  Transfer ended = std::move(transfers_.front());
  transfers_.pop_front();
  ended.done(why.ok() ? Result<Bytes>(std::move(ended.block)) : Result<Bytes>(why));
}

void OptimizerStateTransfer::end_all(const Status& why) {
  for (Transfer& transfer : std::exchange(transfers_, {})) transfer.done(why);
}

}  // namespace stretto
