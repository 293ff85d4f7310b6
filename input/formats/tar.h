// SPDX-License-Identifier: Apache-2.0
// tar as ustar, pax and GNU tar write it, and WebDataset's convention on it: neighbouring files
// whose paths are equal up to the first dot of the last component are one sample; files without a
// dot there, or with nothing before it, and those of __NAME__ are none's. Pure; nothing in a file
// is trusted.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "input/formats/byte_source.h"
#include "stretto/status.h"

namespace stretto::input {

inline constexpr std::size_t kTarBlock = 512;

/// A file in an archive.
struct TarEntry {
  std::string path;
  std::string refused;      ///< Why its bytes cannot be had: it is a link, or sparse.
  std::uint64_t first = 0;  ///< Where its headers begin.
  std::uint64_t data = 0;   ///< Where its bytes do.
  std::uint64_t bytes = 0;
  std::uint64_t next = 0;  ///< Where the headers of the next one may begin.
  bool whole = true;       ///< False if the archive ends before its bytes do.
};

/// The first file or link at or behind `offset`; none at the archive's end. kMalformed says what is
/// wrong with the header there. Other errors are the source's.
Result<std::optional<TarEntry>> next_tar_entry(Glimpse& glimpse, std::uint64_t offset);

/// Where the samples of a shard are. A header that is wrong is there by itself, so that reading it
/// gives the error; behind it the next right one is looked for. Unless each sample is one file, the
/// neighbours of a wrong header may be what is left of its sample, and are left out with it.
Result<std::vector<Extent>> scan_tar(Source& source, std::uint64_t max_bytes);

/// A sample: the name that its files share, and each file's extension and bytes.
struct TarSample {
  std::string_view key;
  std::vector<std::pair<std::string_view, std::span<const std::byte>>> members;
  std::shared_ptr<const std::vector<std::string>> names;  ///< What the views look at.
};

/// The sample in the bytes of an extent.
Result<TarSample> tar_sample(std::span<const std::byte> bytes, std::uint64_t max_bytes);

}  // namespace stretto::input
