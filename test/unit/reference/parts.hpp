// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Renders the tables of docs/reference and the options of the manual pages from the tables in code. Each part is a text
// between marks in a document; see main.cpp.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/option.hpp"
#include "sluice/sdk/option_table.hpp"

namespace sluice::reference {

// The parts by name, such as "flags" or "fields sluice".
using Parts = std::map<std::string, std::function<std::string()>>;

Parts option_parts();  // flags, fields, settings of backends, feature gates
Parts manual_parts();  // the same for troff
Parts table_parts();   // metrics, paths, events
Parts error_parts();   // messages of the validation

// Returns the differences between the table of flags and the output of `sluiced --help`.
std::vector<std::string> compare_help(const std::string& help);

// "number", "list of durations".
std::string type_of(const abi::OptionSpec& spec);
// The modes that use an option; empty: all.
std::string modes_of(const config::Option& option);

// Sentences of the tables as Markdown in a table cell: flags, paths and assignments in backquotes.
std::string prose(std::string_view text);
// A literal in backquotes, or an empty text.
std::string code(std::string_view text);
std::string row(const std::vector<std::string>& cells);
std::string heading_row(const std::vector<std::string>& cells);
// The sentences with a blank between; empty ones are skipped.
std::string sentences(const std::vector<std::string>& parts);

}  // namespace sluice::reference
