// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/declared_options.hpp"

#include "core/plugin/host_services.hpp"
#include "sluice/sdk/option_table.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::plugin {

DeclaredOptions::DeclaredOptions(const abi::ArrayView& table) : specs_(sdk::rows(table)) {
  for (abi::OptionSpec& spec : specs_) {
    for (abi::StringView* text :
         {&spec.key, &spec.default_value, &spec.words, &spec.unit, &spec.format, &spec.help}) {
      *text = sdk::view(texts_.emplace_back(one_line(sdk::text(*text))));
    }
  }
}

}  // namespace sluice::plugin
