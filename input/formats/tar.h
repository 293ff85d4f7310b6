// SPDX-License-Identifier: Apache-2.0
// tar in the formats ustar, pax and GNU, and WebDataset's convention: neighbouring files whose
// paths are equal up to the first dot of the last component form one sample. Files without a dot
// there, with an empty name before it, or of __NAME__ belong to no sample. Pure; files are
// untrusted.
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
  std::string refused;      ///< Why its bytes are unavailable: it is a link, or sparse.
  std::uint64_t first = 0;  ///< Offset of its headers.
  std::uint64_t data = 0;   ///< Offset of its bytes.
  std::uint64_t bytes = 0;
  std::uint64_t next = 0;  ///< Offset of the next entry's headers, if any.
  bool whole = true;       ///< False if the archive ends before its bytes do.
};

/// The first file or link at or after `offset`; none at the archive's end. kMalformed describes an
/// invalid header there. Other errors are the source's.
Result<std::optional<TarEntry>> next_tar_entry(Glimpse& glimpse, std::uint64_t offset);

/// The extents of a shard's samples. An invalid header gets an extent of its own, so that reading
/// it gives the error; the scan continues at the next valid header. Unless each sample is one file,
/// neighbours of an invalid header may belong to its sample, and are left out with it.
Result<std::vector<Extent>> scan_tar(Source& source, std::uint64_t max_bytes);

/// A sample: the name that its files share, and each file's extension and bytes.
struct TarSample {
  std::string_view key;
  std::vector<std::pair<std::string_view, std::span<const std::byte>>> members;
  std::shared_ptr<const std::vector<std::string>> names;  ///< Owns the text of the views.
};

/// The sample in the bytes of an extent.
Result<TarSample> tar_sample(std::span<const std::byte> bytes, std::uint64_t max_bytes);

}  // namespace stretto::input
