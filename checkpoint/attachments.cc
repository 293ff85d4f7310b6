// SPDX-License-Identifier: Apache-2.0
// Replicated attachments form one row of bytes, of which each worker writes a stripe.
#include "checkpoint/attachments.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>

#include "common/memory/crc32c.h"

namespace stretto::checkpoint {
namespace {

constexpr std::size_t kMostNameBytes = 1100;  // A tensor's, and a suffix.
constexpr const char* kFilePrefix = "worker-";

// Where stripe `index` of `of` stripes begins.
std::uint64_t begin_of(std::uint64_t total, std::uint64_t index, std::uint64_t of) {
  return total / of * index + std::min(index, total % of);
}

EntryKey key_of(const Attachment& attachment, std::uint32_t part, std::int32_t rank) {
  return {.kind = Kind::kAttached, .name = attachment.name, .part = part, .rank = rank};
}

// The ranges that `seat` writes of one attachment, which begins at `first` of the row.
void add_stripe(const Attachment& attachment, std::size_t item, std::uint64_t first,
                std::uint64_t total, const StripeOwner& seat,
                std::vector<AttachmentRange>& pieces) {
  const std::uint64_t end = first + attachment.bytes.size();
  if (first == end && seat.position == 0) {
    pieces.push_back({.item = item, .key = key_of(attachment, 0, kOfAll)});
  }
  std::uint32_t part = 0;
  for (std::uint32_t each = 0; each <= seat.position; ++each) {
    const std::uint64_t low = std::max(first, begin_of(total, each, seat.of));
    const std::uint64_t high = std::min(end, begin_of(total, each + 1, seat.of));
    if (low >= high) continue;
    if (each == seat.position) {
      pieces.push_back({.item = item,
                        .key = key_of(attachment, part, kOfAll),
                        .first = low - first,
                        .bytes = high - low});
    }
    ++part;
  }
}

std::uint64_t mixed(std::uint64_t sum, std::string_view text) {
  for (const char each : text) {
    sum = (sum ^ static_cast<unsigned char>(each)) * std::uint64_t{1099511628211};
  }
  return sum;
}

// The product of "3x7"; none if the text is malformed.
std::optional<std::uint64_t> elements_of(std::string_view shape) {
  std::uint64_t product = 1;
  while (!shape.empty()) {
    const std::size_t end = std::min(shape.find('x'), shape.size());
    std::uint64_t size = 0;
    const auto [stop, error] = std::from_chars(shape.data(), shape.data() + end, size);
    if (error != std::errc() || stop != shape.data() + end || end == shape.size() - 1) return {};
    if (size != 0 && product > ~std::uint64_t{0} / size) return {};
    product *= size;
    shape.remove_prefix(std::min(end + 1, shape.size()));
  }
  return product;
}

Status check(const Attachment& attachment) {
  if (attachment.name.empty() || attachment.name.size() > kMostNameBytes) {
    return {Code::kInvalidArgument,
            fmt::format("the name of what is attached has {} bytes, wanted 1 to {}",
                        attachment.name.size(), kMostNameBytes)};
  }
  const std::size_t element = attachment.dtype ? bytes_of(*attachment.dtype) : 1;
  if (element == 0 || attachment.bytes.size() % element != 0) {
    return {Code::kInvalidArgument,
            fmt::format("'{}' has {} bytes, which are no whole number of elements of {}",
                        attachment.name, attachment.bytes.size(), element)};
  }
  const std::uint64_t elements = attachment.bytes.size() / element;
  if (attachment.shape.empty() || elements_of(attachment.shape) == elements) return {};
  return {Code::kInvalidArgument,
          fmt::format("'{}' has {} elements, and its shape is '{}'; wanted one such as 3x7, of as "
                      "many",
                      attachment.name, elements, attachment.shape)};
}

}  // namespace

Status check_attachments(std::span<const Attachment> attachments) {
  std::set<std::pair<std::string_view, bool>> names;
  for (const Attachment& attachment : attachments) {
    if (Status status = check(attachment); !status.ok()) return status;
    if (names.emplace(attachment.name, attachment.held == Held::kByEach).second) continue;
    return {Code::kInvalidArgument,
            fmt::format("'{}' is attached twice; give each a name of its own", attachment.name)};
  }
  return {};
}

std::vector<AttachmentRange> pieces_of(std::span<const Attachment> attachments,
                                       const StripeOwner& seat) {
  std::uint64_t total = 0;
  for (const Attachment& attachment : attachments) {
    if (attachment.held == Held::kAlike) total += attachment.bytes.size();
  }
  std::vector<AttachmentRange> pieces;
  std::uint64_t first = 0;
  for (std::size_t item = 0; item < attachments.size(); ++item) {
    const Attachment& attachment = attachments[item];
    const auto whole = [&](std::int32_t rank) {
      pieces.push_back({.item = item,
                        .key = key_of(attachment, 0, rank),
                        .first = 0,
                        .bytes = attachment.bytes.size()});
    };
    if (attachment.held == Held::kByEach) {
      whole(static_cast<std::int32_t>(seat.position));
    } else if (attachment.held == Held::kByFirst || !seat.striped) {
      if (seat.position == 0) whole(kOfAll);
    } else {
      add_stripe(attachment, item, first, total, seat, pieces);
      first += attachment.bytes.size();
    }
  }
  return pieces;
}

std::uint64_t digest_of_alike(std::span<const Attachment> attachments) {
  std::uint64_t sum = 0;
  for (const Attachment& attachment : attachments) {
    if (attachment.held != Held::kAlike) continue;
    if (sum == 0) sum = 14695981039346656037U;
    sum = mixed(sum, fmt::format("{}:{}:{}:{}:{:08x}\n", attachment.name, attachment.bytes.size(),
                                 attachment.dtype ? static_cast<int>(*attachment.dtype) : 0,
                                 attachment.shape, crc32c(attachment.bytes)));
  }
  return sum;
}

std::vector<WrittenPiece> pieces_to_write(std::span<const Attachment> attachments,
                                          const StripeOwner& seat) {
  std::vector<WrittenPiece> all;
  for (const AttachmentRange& piece : pieces_of(attachments, seat)) {
    const Attachment& attachment = attachments[piece.item];
    all.push_back({.entry = {.key = piece.key,
                             .total = attachment.bytes.size(),
                             .dtype = attachment.dtype,
                             .shape = attachment.shape},
                   .bytes = attachment.bytes.subspan(piece.first, piece.bytes)});
  }
  return all;
}

Result<WrittenFile> write_pieces(Folder& folder, const CheckpointId& origin, std::uint32_t position,
                                 std::span<const WrittenPiece> pieces,
                                 const std::function<bool()>& goes_on) {
  if (pieces.empty()) return WrittenFile();
  WrittenFile file{.name = fmt::format("{}{}.parts", kFilePrefix, position), .seal = {}};
  Result<PartsWriter> writer = folder.write(origin, file.name);
  if (!writer.ok()) return writer.status();
  for (const WrittenPiece& piece : pieces) {
    if (goes_on && !goes_on()) return Status(Code::kCancelled, "writing was interrupted");
    if (Status added = writer->add(piece.entry, {piece.bytes}); !added.ok()) return added;
  }
  const Result<FileDigest> seal = writer->finish();
  if (!seal.ok()) return seal.status();
  file.seal = *seal;
  file.entries = pieces.size();
  return file;
}

Result<AttachedReader> AttachedReader::open(Folder& folder, std::uint64_t number) {
  const Result<CheckpointManifest> manifest = folder.open(number);
  return manifest.ok() ? of(folder, *manifest) : manifest.status();
}

Result<AttachedReader> AttachedReader::of(Folder& folder, const CheckpointManifest& manifest) {
  AttachedReader all;
  for (const CheckpointManifest::File& file : manifest.files) {
    if (!file.name.starts_with(kFilePrefix)) continue;
    Result<PartsReader> reader = folder.read(manifest.origin, file);
    if (!reader.ok()) return reader.status();
    for (std::size_t i = 0; i < reader->entries().size(); ++i) {
      const Status added = all.add(reader->entries()[i], {all.readers_.size(), i});
      if (!added.ok()) return added;
    }
    all.readers_.push_back(*std::move(reader));
  }
  const Status whole = all.take_stripes();
  if (!whole.ok()) return whole;
  return all;
}

Status AttachedReader::add(const SavedEntry& entry, Stripe stripe) {
  if (entry.key.kind != Kind::kAttached) return {};
  auto& stripes = found_[{entry.key.name, entry.key.rank}];
  if (stripes.emplace(entry.key.part, stripe).second) return {};
  return {Code::kMalformed, fmt::format("{} is twice in a checkpoint", describe(entry.key))};
}

// Each attachment is complete: its stripes make up its recorded total. The first files of this
// format record no total: there one stripe holds all bytes.
Status AttachedReader::take_stripes() {
  for (const auto& [key, stripes] : found_) {
    const Stripe& any = stripes.begin()->second;
    const SavedEntry& one = readers_[any.reader].entries()[any.entry];
    std::uint64_t bytes = 0;
    bool agree = true;
    std::vector<Stripe>& row = stripes_.emplace_back();
    for (const auto& [part, stripe] : stripes) {
      const SavedEntry& entry = readers_[stripe.reader].entries()[stripe.entry];
      agree = agree && part == row.size() && entry.total == one.total && entry.dtype == one.dtype;
      bytes += entry.bytes;
      row.push_back(stripe);
    }
    const bool says_total = one.total != 0 || row.size() > 1;
    if (!agree || (says_total && bytes != one.total)) {
      return {Code::kMalformed, fmt::format("the stripes of {} do not make up its {} bytes",
                                            describe(one.key), one.total)};
    }
    all_.push_back({.name = key.first,
                    .rank = key.second,
                    .bytes = bytes,
                    .dtype = one.dtype,
                    .shape = one.shape});
  }
  return {};
}

std::optional<std::size_t> AttachedReader::find(const std::string& name, std::int64_t rank) const {
  const auto found = std::ranges::find_if(
      all_, [&](const Attached& each) { return each.name == name && each.rank == rank; });
  if (found == all_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all_.begin());
}

Status AttachedReader::read(std::size_t index, std::span<std::byte> target) {
  const Attached& attached = all_.at(index);
  if (target.size() != attached.bytes) {
    return {Code::kInvalidArgument, fmt::format("'{}' was saved in {} bytes, there is room for {}",
                                                attached.name, attached.bytes, target.size())};
  }
  for (const Stripe& stripe : stripes_[index]) {
    PartsReader& reader = readers_[stripe.reader];
    const std::uint64_t bytes = reader.entries()[stripe.entry].bytes;
    const std::span<std::byte> place = target.first(bytes);
    Status read =
        reader.read(stripe.entry, [place](std::uint64_t offset, std::span<const std::byte> some) {
          std::memcpy(place.data() + offset, some.data(), some.size());
          return Status();
        });
    if (!read.ok()) return read;
    target = target.subspan(bytes);
  }
  return {};
}

}  // namespace stretto::checkpoint
