// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The listing of our table in the state directory, from the end of one process to the start of the next, which then
// need not read the table back. One file per family. The file is valid for one state of nf_tables only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::nftables {

// The format: a magic number with the version, a hash of the rest, and the rest. Strings and lists are preceded by their
// length, and numbers are in host order, as another boot makes the file invalid anyway.
std::string encode_listing(abi::Family family, const TableState& state, const Listing& listing);

struct SavedListing {
  TableState state;
  Listing listing;  // with the generation of `state`; `saved` is set
};
// Takes any bytes. Empty if they were not made by encode_listing() for this family, in this version of the format.
std::optional<SavedListing> decode_listing(abi::Family family, std::string_view content);

// Any thread; one at a time. Failures are logged only: the table is read back then.
class ListingFile {
 public:
  // An empty `folder`: no file.
  ListingFile(std::string_view folder, abi::Family family, sdk::Logger log);

  void save(const TableState& state, const Listing& listing) const;
  // The saved listing, if nf_tables has not changed since. Throws sdk::Failure.
  std::optional<Listing> load(TableKernel& kernel) const;
  void remove() const noexcept;

  bool is_available() const noexcept { return !path_.empty(); }

 private:
  std::string path_;
  abi::Family family_;
  sdk::Logger log_;
};

}  // namespace sluice::nftables
