// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/loader.hpp"

#include <dlfcn.h>

#include <boost/dll/shared_library.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/plugin/annotation_prefixes.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/mapped_object.hpp"
#include "core/plugin/metric_declarations.hpp"
#include "core/plugin/private_copy.hpp"
#include "core/plugin/rejection.hpp"
#include "lib/sha256.hpp"
#include "sluice/sdk/option_table.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::plugin {
namespace {

namespace fs = std::filesystem;
using lib::Status;
using lib::StatusCode;

// Binds immediately, so that an unresolved symbol is an error now instead of a crash later, and locally, so that
// plugins do not share symbols. `content` is `file` or its copy.
Status map_library(const fs::path& file, const fs::path& content, boost::dll::shared_library& library) {
  try {
    std::error_code error;
    library.load(content, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, error);
    if (!error) return {};
  } catch (const std::exception& caught) {
    return reject_file(StatusCode::internal, file, std::string("load check: ") + caught.what());
  }
  // The message of Boost ends with an unrelated errno.
  const char* const reason = dlerror();
  std::string_view text = reason == nullptr ? "the dynamic linker gave no reason" : reason;
  const std::string prefix = content.string() + ": ";
  if (text.substr(0, prefix.size()) == prefix) text.remove_prefix(prefix.size());
  return reject_file(StatusCode::invalid, file,
                "load check: " + std::string(text) +
                    "; link the plugin with all it needs (-Wl,-z,defs) and install its libraries");
}

Status check_entry(const LoadRequest& request, const abi::PluginEntry& mapped) {
  const fs::path& file = request.file;
  // check_content() read the descriptor by the name of its section. The symbol may refer to another place.
  if (Status status = check_descriptor(file, &mapped, kDescriptorHead, UINT64_MAX); !status.ok()) return status;
  const abi::PluginEntry entry = sdk::read(&mapped);
  if (entry.id == nullptr || entry.version == nullptr || entry.build == nullptr || entry.create == nullptr) {
    return reject_file(StatusCode::invalid, file,
                  "descriptor check: id, version, build or create is null; fill every field of SLUICE_PLUGIN_ENTRY");
  }
  if (request.id != entry.id) {
    return reject_file(StatusCode::invalid, file,
                  "id check: it calls itself '" + std::string(entry.id) + "', the configuration asks for '" +
                      request.id + "'; name the file after its id");
  }
  if (const std::string problem = sdk::table_problem(entry.options); !problem.empty()) {
    return reject_file(StatusCode::invalid, file, "options check: " + one_line(problem));
  }
  if (const auto metrics = read_metric_declarations(entry); !metrics.ok()) {
    return reject_file(metrics.status().code(), file, "metrics check: " + metrics.status().message());
  }
  return check_annotation_prefixes(file, read_annotation_prefixes(entry));
}

// REQUIRES: the last reference was released.
Status kept_by_linker(const fs::path& file, const Plugin::Mapping& mapping) {
  const auto left = mapped_object(mapping.address);
  if (!left || left->name != mapping.name) return {};
  return reject_file(StatusCode::unsupported, file,
                     "it stays mapped: " +
                         (left->pinned_by.empty()
                              ? "a thread that has not ended has thread-local variables of it to destroy, or another "
                                "library needs it; end all threads before release() returns"
                              : left->pinned_by));
}

void log_late_unload(const fs::path& file, const Plugin::Mapping& mapping) noexcept {
  try {
    const Status status = kept_by_linker(file, mapping);
    if (status.ok()) {
      base::log(base::message::kPluginUnloadedLate, "plugin " + file.string() + " is unloaded: its last user has ended",
                {{"file", file.string()}});
    } else {
      base::log(base::message::kPluginNotUnloaded, status.message(),
                {{"file", file.string()}, {"error", status.message()}});
    }
  } catch (const std::exception&) {  // out of memory: skip the log line
  }
}

}  // namespace

Plugin::Plugin(std::shared_ptr<const void> library, fs::path file, const abi::PluginEntry& entry, Mapping mapping,
               std::shared_ptr<LastRelease> last_release)
    : library_(std::move(library)),
      file_(std::move(file)),
      mapping_(std::move(mapping)),
      last_release_(std::move(last_release)),
      entry_(entry),
      id_(entry.id),
      version_(entry.version),
      build_(entry.build),
      options_(entry.options.data == nullptr ? nullptr : std::make_shared<const DeclaredOptions>(entry.options)),
      annotation_prefixes_(read_annotation_prefixes(entry)) {
  // load_plugin() has rejected invalid ones.
  if (auto declared = read_metric_declarations(entry); declared.ok()) {
    metrics_ = std::make_shared<const MetricDeclarations>(std::move(declared.value()));
  }
}

lib::Result<std::shared_ptr<const Plugin>> load_plugin(const LoadRequest& request) {
  const lib::Result<fs::path> resolved = check_location(request.file, request.rules);
  if (!resolved) return resolved.status();
  std::optional<PrivateCopy> copy;
  if (request.copy) {
    auto made = PrivateCopy::make(*resolved);
    if (!made) return made.status();
    copy.emplace(std::move(*made));
  }
  const fs::path& content = copy ? copy->path() : *resolved;
  if (Status status = check_content(content, *resolved); !status.ok()) return status;
  const auto sha256 = lib::file_sha256(content.string());
  if (!sha256) return sha256.status().prefixed("plugin " + resolved->string() + ": content check");

  auto library = std::make_shared<boost::dll::shared_library>();
  if (Status status = map_library(*resolved, content, *library); !status.ok()) return status;
  if (!library->has(SLUICE_ABI_SYMBOL)) {
    return reject_file(StatusCode::invalid, request.file,
                  "symbol check: it does not export " SLUICE_ABI_SYMBOL "; link it with the version script plugin.map");
  }
  const auto& mapped = library->get<const abi::PluginEntry>(SLUICE_ABI_SYMBOL);
  if (Status status = check_entry(request, mapped); !status.ok()) return status;

  const auto object = mapped_object(&mapped);
  const auto last_release = std::make_shared<LastRelease>();
  auto plugin = LastRelease::share(
      std::make_unique<const Plugin>(std::move(library), *resolved, sdk::read(&mapped),
                                     Plugin::Mapping{*sha256, &mapped, object ? object->name : ""}, last_release),
      last_release);
  if (request.quiet) return plugin;
  if (request.rules.relax_ownership) {
    base::log(base::message::kPluginOwnershipUnchecked,
              "plugin " + plugin->file().string() + ": ownership was not checked, as asked for by a developer setting",
              {{"file", plugin->file().string()}});
  }
  base::log(base::message::kPluginLoaded,
            "loaded " + plugin->file().string() + ": backend '" + plugin->id() + "' " + plugin->version() + ", ABI " +
                std::to_string(mapped.major) + "." + std::to_string(mapped.minor) + ", built by " + plugin->build(),
            {{"file", plugin->file().string()}, {"backend", plugin->id()}, {"version", plugin->version()}});
  return plugin;
}

Status unload_plugin(std::shared_ptr<const Plugin> plugin, std::chrono::milliseconds limit) {
  if (!plugin || plugin->mapping().address == nullptr) return {};
  const fs::path file = plugin->file();
  const Plugin::Mapping mapping = plugin->mapping();
  const auto last_release = plugin->last_release();
  auto last = last_release->take(std::move(plugin), limit, [file, mapping] { log_late_unload(file, mapping); });
  if (last == nullptr) {
    return reject_file(StatusCode::unavailable, file,
                       "it stays mapped: a part of the daemon still uses it; it is unmapped when that part ends");
  }
  last.reset();
  return kept_by_linker(file, mapping);
}

}  // namespace sluice::plugin
