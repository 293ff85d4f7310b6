// SPDX-License-Identifier: Apache-2.0
// Headers are believed only with their checksum, sizes only if the archive has room for them.
#include "worker/input/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

namespace stretto::input {
namespace {

constexpr std::size_t kMostNameBytes = std::size_t{64} << 10;  // Of a pax header or a long name.
constexpr std::size_t kMostHeaders = 64;                       // Before one file.

struct Field {
  std::size_t offset;
  std::size_t bytes;
};
constexpr Field kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kPrefix{345, 155};
constexpr std::size_t kType = 156;
constexpr Field kMagic{257, 5};

std::string_view text_of(std::span<const std::byte> block, Field field) {
  const std::string_view all(reinterpret_cast<const char*>(block.data()) + field.offset,
                             field.bytes);
  return all.substr(0, all.find('\0'));
}

// Octal digits between blanks; or, with the highest bit set, big-endian binary (GNU).
std::optional<std::uint64_t> number_in(std::span<const std::byte> block, Field field) {
  const auto bytes = block.subspan(field.offset, field.bytes);
  if ((bytes[0] & std::byte{0x80}) != std::byte{0}) {
    std::uint64_t value = std::to_integer<std::uint64_t>(bytes[0] & std::byte{0x7f});
    for (const std::byte byte : bytes.subspan(1)) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | std::to_integer<std::uint64_t>(byte);
    }
    return value;
  }
  std::string_view digits = text_of(block, field);
  while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
  if (digits.empty()) return std::uint64_t{0};
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

bool checksum_is_right(std::span<const std::byte> block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const bool in_checksum = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.bytes;
    sum += in_checksum ? ' ' : std::to_integer<std::uint64_t>(block[i]);
  }
  const std::optional<std::uint64_t> stored = number_in(block, kChecksum);
  return stored && *stored == sum;
}

bool is_zero(std::span<const std::byte> block) {
  return std::ranges::all_of(block, [](std::byte byte) { return byte == std::byte{0}; });
}

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
}

// What extended headers say of the file that they precede.
struct Extended {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
};

// Records of a pax header: "length key=value\n". False if they are not that.
bool read_pax(std::string_view text, Extended& extended) {
  while (!text.empty() && text.front() != '\0') {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || digits >= text.size() || text[digits] != ' ' ||
        length > text.size() || length < digits + 2 || text[length - 1] != '\n') {
      return false;
    }
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key == "path") extended.path = std::string(value);
    if (key == "size") {
      std::uint64_t size = 0;
      const auto [stop, wrong] = std::from_chars(value.data(), value.data() + value.size(), size);
      if (wrong != std::errc() || stop != value.data() + value.size()) return false;
      extended.size = size;
    }
  }
  return true;
}

std::string path_of(std::span<const std::byte> block) {
  const std::string_view name = text_of(block, kName);
  const bool ustar = text_of(block, kMagic) == "ustar" && block[262] == std::byte{0};
  const std::string_view prefix = ustar ? text_of(block, kPrefix) : std::string_view();
  return prefix.empty() ? std::string(name) : fmt::format("{}/{}", prefix, name);
}

Status malformed(std::string words) { return {Code::kMalformed, std::move(words)}; }

// Takes in an extended header ('x' pax, 'L' a long name; the others tell nothing we need).
Status read_extended(Glimpse& glimpse, char type, std::uint64_t data, std::uint64_t size,
                     Extended& extended) {
  if (type != 'x' && type != 'L') return {};
  if (size > kMostNameBytes) {
    return malformed(fmt::format("an extended header of {} bytes; more than {} are refused", size,
                                 kMostNameBytes));
  }
  Result<std::span<const std::byte>> bytes = glimpse.at(data, size);
  if (!bytes.ok()) return bytes.status();
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  if (type == 'L') {
    extended.path = std::string(text.substr(0, text.find('\0')));
  } else if (!read_pax(text, extended)) {
    return malformed("a pax header is not made of 'length key=value' lines");
  }
  return {};
}

// A header's block: right, zero (the end), or why not.
struct TarHeader {
  bool end = false;
  char type = '0';
  std::uint64_t size = 0;
  std::string path;
};

Result<TarHeader> read_header(Glimpse& glimpse, std::uint64_t offset) {
  Result<std::span<const std::byte>> block = glimpse.at(offset, kTarBlock);
  if (!block.ok()) return block.status();
  if (block->empty()) return TarHeader{.end = true, .path = {}};
  if (block->size() < kTarBlock) {
    return malformed(fmt::format("the file ends {} bytes into a tar header of {}: it is truncated",
                                 block->size(), kTarBlock));
  }
  if (is_zero(*block)) return TarHeader{.end = true, .path = {}};
  if (!checksum_is_right(*block)) {
    return malformed(
        "the checksum of a tar header is wrong; this is no tar file, or it was changed");
  }
  const std::optional<std::uint64_t> size = number_in(*block, kSize);
  if (!size) return malformed("the size in a tar header is no number");
  const auto type = std::to_integer<char>((*block)[kType]);
  return TarHeader{.end = false, .type = type, .size = *size, .path = path_of(*block)};
}

// Links, devices, folders and pipes have no bytes, whatever their size says.
bool has_no_bytes(char type) { return type >= '1' && type <= '6'; }
bool is_regular(char type) { return type == '0' || type == '\0' || type == '7'; }

struct Name {
  std::string_view key;
  std::string_view extension;
};

// "a/b/c.seg.png": "a/b/c" and "seg.png".
Name split(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = path.find('.', base);
  if (dot == std::string_view::npos) return {path, {}};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

// Puts neighbours together as the walk meets them.
class Grouping {
 public:
  explicit Grouping(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  void add(const TarEntry& entry) {
    const Name name = split(entry.path);
    const std::string extension(name.extension);
    const bool known = std::ranges::find(extensions_, extension) != extensions_.end();
    if (extensions_.empty() || name.key != key_ || known) {
      end();
      key_ = name.key;
      first_ = entry.first;
    }
    extensions_.push_back(extension);
    // What is too large, or not all there, is not to be read: its header is enough for the error,
    // and what comes behind it is not needed.
    if (cut_) return;
    const bool readable = entry.whole && entry.next - first_ <= max_bytes_;
    last_ = readable ? entry.next : std::max(last_, entry.data);
    cut_ = !readable;
  }
  void add_wrong(std::uint64_t offset, std::uint64_t bytes) {
    end();
    extents_.push_back({offset, bytes});
  }
  std::vector<Extent> take() {
    end();
    return std::move(extents_);
  }

 private:
  void end() {
    if (!extensions_.empty()) extents_.push_back({first_, last_ - first_});
    extensions_.clear();
    last_ = 0;
    cut_ = false;
  }

  std::uint64_t max_bytes_;
  std::vector<Extent> extents_;
  std::string key_;
  std::vector<std::string> extensions_;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  bool cut_ = false;
};

}  // namespace

Result<std::optional<TarEntry>> next_tar_entry(Glimpse& glimpse, std::uint64_t offset) {
  std::uint64_t first = offset;
  Extended extended;
  for (std::size_t headers = 0; headers < kMostHeaders;) {
    Result<TarHeader> header = read_header(glimpse, offset);
    if (!header.ok()) return header.status();
    if (header->end) return std::optional<TarEntry>();
    const std::uint64_t data = offset + kTarBlock;
    const bool plain = is_regular(header->type);
    std::uint64_t size = has_no_bytes(header->type) ? 0 : header->size;
    if (plain && extended.size) size = *extended.size;
    const bool whole = size <= glimpse.size() && data <= glimpse.size() - size;
    if (!whole && !plain)
      return malformed("the archive ends in an extended header: it is truncated");
    offset = whole ? std::min(data + padded(size), glimpse.size()) : glimpse.size();
    if (plain) {
      return std::optional(TarEntry{.path = extended.path.value_or(std::move(header->path)),
                                    .first = first,
                                    .data = data,
                                    .bytes = size,
                                    .next = offset,
                                    .whole = whole});
    }
    if (header->type == 'S') return malformed("sparse files in archives are not supported");
    const Status status = read_extended(glimpse, header->type, data, size, extended);
    if (!status.ok()) return status;
    if (has_no_bytes(header->type)) {  // What was said was said of this one.
      extended = {};
      first = offset;
    } else {
      ++headers;
    }
  }
  return malformed(fmt::format("more than {} headers before a file", kMostHeaders));
}

Result<std::vector<Extent>> scan_tar(Source& source, std::uint64_t max_bytes) {
  Glimpse glimpse(source);
  Grouping grouping(max_bytes);
  bool lost = false;  // Behind a wrong header, until a right one comes.
  for (std::uint64_t offset = 0; offset < glimpse.size();) {
    Result<std::optional<TarEntry>> entry = next_tar_entry(glimpse, offset);
    if (entry.ok() && !*entry && !lost) break;
    if (entry.ok() && *entry) {
      grouping.add(**entry);
      offset = (*entry)->next;
      lost = false;
    } else if (!entry.ok() && entry.status().code() != Code::kMalformed) {
      return entry.status();
    } else {
      const std::uint64_t left = glimpse.size() - offset;
      if (!lost) grouping.add_wrong(offset, std::min<std::uint64_t>(left, kTarBlock));
      lost = true;
      offset += std::min<std::uint64_t>(left, kTarBlock);
    }
  }
  return grouping.take();
}

Result<TarSample> tar_sample(std::span<const std::byte> bytes, std::uint64_t max_bytes) {
  MemorySource source(bytes);
  Glimpse glimpse(source);
  std::vector<TarEntry> entries;
  for (std::uint64_t offset = 0; offset < bytes.size();) {
    Result<std::optional<TarEntry>> entry = next_tar_entry(glimpse, offset);
    if (!entry.ok()) return entry.status();
    if (!*entry) break;
    if (!(*entry)->whole) {
      return malformed(
          fmt::format("'{}' has {} bytes, and there are not so many: the archive is "
                      "truncated, or its sample has more than the limit of {} "
                      "(max_sample_bytes)",
                      (*entry)->path, (*entry)->bytes, max_bytes));
    }
    offset = (*entry)->next;
    entries.push_back(*std::move(*entry));
  }
  if (entries.empty()) return malformed("no file where one was when the archive was indexed");
  auto names = std::make_shared<std::vector<std::string>>();
  for (TarEntry& entry : entries) names->push_back(std::move(entry.path));
  TarSample sample{.key = split(names->front()).key, .members = {}, .names = names};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    sample.members.emplace_back(split((*names)[i]).extension,
                                bytes.subspan(entries[i].data, entries[i].bytes));
  }
  return sample;
}

}  // namespace stretto::input
