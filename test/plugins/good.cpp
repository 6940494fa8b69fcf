// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: no faults. Uses all services of the host, and reports through them the data that it received.
// Service ports without endpoints count as failed. Built twice, as two versions of one plugin.
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "zoo.hpp"

namespace {

using zoo::abi::Code;
using zoo::abi::Error;
namespace abi = zoo::abi;
namespace sdk = zoo::sdk;

constexpr abi::StringView kZooLabel[] = {sdk::view("zoo")};
constexpr auto kProbes = sdk::counter("good_probes_total", "Number of probes.", "", sdk::array(kZooLabel));
constexpr abi::MetricSpec kMetrics[] = {kProbes};

class Good final : public zoo::PlainBackend {
 public:
  explicit Good(const abi::CreateArgs& args)
      : PlainBackend(args), options_(args.options), version_(sdk::text(args.host_version)), minor_(args.host_minor), features_(args.host_features),
        state_dir_(sdk::text(args.state_dir)), old_backend_serves_(sdk::predecessor_serves(args)) {}

 private:
  // Reports from its own thread, as after a notification of the kernel.
  Code do_probe(Error*) override {
    std::thread([this] {
      log().info("sluiced " + version_ + " with minor " + std::to_string(minor_) + " and features " +
                 std::to_string(features_) + ", colour " + options_.get("colour", "none") + ", state in " + state_dir_ +
                 (old_backend_serves_ ? ", in place of another" : ""));
      metrics().series(kProbes, {"good"}).add(1);
      auto* const status = static_cast<abi::HostStatus*>(host().extension(sdk::view(abi::kHostStatus)));
      if (status != nullptr) status->set(sdk::view("colour"), sdk::view(options_.get("colour", "none")), sdk::view("paint it"));
      host().metric(abi::MetricKind::kCounterAdd, sdk::view("probes_total"), sdk::view("zoo=\"good\""), 1);
      host().event(abi::Severity::kWarning, sdk::view("Probed"), sdk::view("probe called"), nullptr);
      host().request_resync(sdk::view("flushed\nby another process"));
      host().report_unhealthy(sdk::view("hungry"));
      host().report_unhealthy(sdk::view(""));
    }).join();
    return Code::kOk;
  }

  Code do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node, abi::ApplyResult& result,
                Error* error) override {
    const bool full = transaction.kind == abi::TransactionKind::kFull;
    if (!full && transaction.base_generation != generation_) {
      return sdk::fail(error, Code::kNeedFull, "", "holds generation " + std::to_string(generation_));
    }
    if (full) ports_.clear();
    for (const abi::ServicePort& port : sdk::range<abi::ServicePort>(transaction.service_ports)) {
      const std::string name = sdk::service_port_name(port.key);
      if (sdk::endpoints(port).empty()) {
        abi::Error why = sdk::empty_error();
        sdk::set_error(&why, name, "no endpoint to program", 2);
        host().service_port_failed(&port.key, &why);
        continue;
      }
      ports_[sdk::service_port_id(port.key)] = sdk::endpoints(port).size();
      ++result.kernel_writes;
    }
    for (const abi::ServicePortKey& key : sdk::range<abi::ServicePortKey>(transaction.removed)) {
      result.kernel_writes += ports_.erase(sdk::service_port_id(key));
    }
    log().debug("node " + std::string(sdk::text(node.name)));
    result.objects_owned = ports_.size();
    result.kernel_nanoseconds = 5;
    generation_ = transaction.generation;
    return Code::kOk;
  }

  Code do_claims(abi::StringSink& sink, Error*) override {
    for (const char* claim : {"zoo/b", "zoo/a", "zoo/b"}) sink.add(sdk::view(claim));
    return Code::kOk;
  }

  class Prepared final : public abi::Preparation {
   public:
    explicit Prepared(const Good& good) : good_(good) {}
    Code prepare(const abi::NodeFacts* node, Error* error) noexcept override {
      return sdk::guarded(error, [this, node, error] {
        const std::string colour = good_.options_.get("colour", "none");
        if (colour == "black") return sdk::fail(error, Code::kDenied, "good", "no light to paint by", 13);
        good_.log().info("painted " + colour + ", flags " + std::to_string(node->flags));
        return Code::kOk;
      });
    }

   private:
    const Good& good_;
  };
  class Inspected final : public abi::Inspection {
   public:
    explicit Inspected(const Good& good) : good_(good) {}
    Code services(abi::StringView name, abi::StringSink* lines, Error* error) noexcept override {
      return sdk::guarded(error, [&] {
        if (good_.ports_.empty()) return sdk::fail(error, Code::kKernel, "good", "there is nothing to see", 2);
        for (const auto& [id, endpoints] : good_.ports_) {
          const std::string line = id + "\n" + std::to_string(endpoints);
          if (id.rfind(sdk::text(name), 0) == 0) lines->add(sdk::view(line));
        }
        return Code::kOk;
      });
    }

   private:
    const Good& good_;
  };
  // With the option rows, which is their number.
  class Rows final : public abi::InspectionRows {
   public:
    explicit Rows(const Good& good) : good_(good) {}
    Code inspect(const abi::InspectionQuery* given, abi::InspectionSink* sink, Error* error) noexcept override {
      return sdk::guarded(error, [&] {
        const abi::InspectionQuery query = sdk::read(given);
        const std::string rows = good_.options_.get("rows", "");
        for (int number = 0; number < std::stoi(rows); ++number) {
          if (!add(query, number, *sink)) return Code::kOk;
        }
        if (query.kind != abi::InspectionKind::kInspectExplanation) return Code::kOk;
        abi::InspectedStep last{};
        last.verdict = static_cast<abi::InspectedVerdict>(std::stoi(good_.options_.get("verdict", "1")));
        sink->add(sdk::array(&last, 1));
        return Code::kOk;
      });
    }

   private:
    static bool add(const abi::InspectionQuery& query, int number, abi::InspectionSink& sink) {
      const std::string name = number % 2 == 0 ? "even" : "odd";
      const abi::ServicePortKey key{sdk::view("shop"), sdk::view(name), {}, abi::Protocol::kUdp, {}};
      if (query.kind == abi::InspectionKind::kInspectCounters) {
        abi::InspectedCounters row{};
        row.key = key;
        row.connections = static_cast<std::uint64_t>(number);
        return sink.add(sdk::array(&row, 1)) != 0;
      }
      if (query.kind == abi::InspectionKind::kInspectDrift) {
        abi::InspectedDrift row{};
        row.key = key;
        row.kind = static_cast<abi::DriftKind>(number);
        row.object = sdk::view("of\nkernel");
        return sink.add(sdk::array(&row, 1)) != 0;
      }
      if (query.kind != abi::InspectionKind::kInspectExplanation) return true;
      const abi::InspectedPacket packet = sdk::read(query.packet);
      const std::string effect = std::to_string(packet.flags) + " " + std::to_string(packet.port) + " " +
                                 sdk::to_string(packet.client, abi::Family::kIpv4) + " " +
                                 sdk::to_string(packet.address, abi::Family::kIpv4);
      abi::InspectedStep row{};
      row.effect = sdk::view(effect);
      return sink.add(sdk::array(&row, 1)) != 0;
    }

    const Good& good_;
  };
  // Exports the imported bindings, one second older.
  class Remembered final : public abi::Affinity {
   public:
    Code export_clients(abi::AffinitySink* sink, Error* error) noexcept override {
      return sdk::guarded(error, [this, sink] {
        sink->add({});
        sdk::AffinityBatch batch(*sink);
        for (const auto& [names, client] : clients_) {
          abi::AffinityClient out = client;
          out.key.service_namespace = sdk::view(names[0]);
          out.key.service_name = sdk::view(names[1]);
          out.key.port_name = sdk::view(names[2]);
          --out.remaining_seconds;
          batch.add(out);
        }
      });
    }
    Code import_clients(abi::ArrayView clients, Error* error) noexcept override {
      return sdk::guarded(error, [&] {
        if (clients.count == 0) return sdk::fail(error, Code::kInvalid, "good", "no clients to remember");
        for (const auto& client : sdk::range<abi::AffinityClient>(clients)) {
          clients_.emplace_back(std::vector{std::string(sdk::text(client.key.service_namespace)),
                                            std::string(sdk::text(client.key.service_name)),
                                            std::string(sdk::text(client.key.port_name))},
                                client);
        }
        return Code::kOk;
      });
    }

   private:
    std::vector<std::pair<std::vector<std::string>, abi::AffinityClient>> clients_;
  };
  void* do_extension(std::string_view id) override {
    if (id == abi::kInspection) return static_cast<abi::Inspection*>(&inspected_);
    if (id == abi::kInspectionRows && options_.has("rows")) return static_cast<abi::InspectionRows*>(&rows_);
    if (id == abi::kAffinity) return static_cast<abi::Affinity*>(&remembered_);
    return id == abi::kPreparation ? static_cast<abi::Preparation*>(&prepared_) : nullptr;
  }

  // Fails with its arguments as the message, so that a test can check them.
  Code do_retire(const abi::Handover& handover, Error* error) override {
    std::string received = "drain " + std::to_string(handover.drain_seconds) + ", claimed";
    for (const abi::StringView& claim : sdk::range<abi::StringView>(handover.claims)) {
      received.append(" ").append(sdk::text(claim));
    }
    return sdk::fail(error, Code::kRetry, "good", received, 11);
  }

  const sdk::Options options_;
  const std::string version_;
  const std::uint16_t minor_;
  const std::uint64_t features_;
  const std::string state_dir_;
  const bool old_backend_serves_;
  std::map<std::string, std::size_t> ports_;
  std::uint64_t generation_ = 0;
  Prepared prepared_{*this};
  Inspected inspected_{*this};
  Rows rows_{*this};
  Remembered remembered_;
};

}  // namespace

SLUICE_PLUGIN_ENTRY = zoo::entry("good", &sdk::create<Good>, {}, sdk::array(kMetrics));
