// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Listings of sets and error reports, as libipset prints them.
#include <algorithm>
#include <string>

#include "plugins/ipvs/sets/ipset_session.hpp"
#include "plugins/ipvs/sets/set_listing.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

using ipvs::Listing;

Listing parse(std::string_view text, std::string_view sizes) {
  Listing listing;
  ipvs::ListingParser parser(listing);
  for (const std::string_view piece : cut(text, sizes)) parser.append(piece);
  parser.finish();
  return listing;
}

// Byte 0: the number of piece sizes that follow; the rest is the output of ipset.
FUZZ_TARGET(ipset_list) {
  Input in(input);
  const std::string_view sizes = in.take(in.below(16));
  const std::string_view text = in.rest();
  const Listing whole = parse(text, {});
  const Listing pieces = parse(text, sizes);
  FUZZ_REQUIRE(whole.entries == pieces.entries && whole.unread == pieces.unread && whole.count == pieces.count &&
                   whole.name == pieces.name && whole.type == pieces.type && whole.options == pieces.options &&
                   whole.family == pieces.family && whole.maxelem == pieces.maxelem,
               "a list in pieces reads like one in one piece");
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  FUZZ_REQUIRE(whole.entries.size() + whole.unread <= lines, "a line is one entry at most");
  const auto type = ipvs::parse_type(whole.type);
  FUZZ_REQUIRE(type || whole.entries.empty(), "a set of another type has no entries of ours");
  for (const ipvs::SetEntry& entry : whole.entries) {
    const auto again = ipvs::parse_entry(ipvs::to_string(entry, *type, whole.family), *type, whole.family);
    FUZZ_REQUIRE(again == entry, "an entry that is printed reads as itself");
  }
}

// The report of a failure.
FUZZ_TARGET(ipset_report) {
  const ipvs::IpsetReply reply = ipvs::classify_report(input, 0);
  FUZZ_REQUIRE(!reply.ok() && !reply.text.empty(), "a failure stays one, and has a text");
  FUZZ_REQUIRE(reply.text.find('\n') == std::string::npos, "a text is one line");
}

}  // namespace
}  // namespace sluice::fuzz
