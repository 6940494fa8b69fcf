// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/health/service_health_server.hpp"

#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <compare>
#include <exception>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "core/base/log_budget.hpp"
#include "core/base/log_messages.hpp"
#include "core/observe/http/http_clients.hpp"
#include "core/observe/http/http_listener.hpp"

namespace sluice::observe {
namespace {

namespace net = boost::asio;
using boost::system::error_code;

std::string body_text(const std::string& name_space, const std::string& name, std::size_t count, bool healthy) {
  return nlohmann::ordered_json{{"service", {{"namespace", name_space}, {"name", name}}},
                                {"localEndpoints", count},
                                {"serviceProxyHealthy", healthy}}
      .dump(1, '\t', false, nlohmann::json::error_handler_t::replace);
}

struct Key {
  lib::Family family;
  std::string name_space;
  std::string name;
  std::string to_string() const { return name_space + "/" + name; }
  auto operator<=>(const Key&) const = default;
};

struct Service {
  std::uint16_t port = 0;
  std::size_t local_endpoints = 0;
  const Key* key = nullptr;                                            // in the map that holds the Service
  std::map<lib::IpAddress, std::shared_ptr<HttpListener>> listeners;  // open ones
  std::string problem;                                                 // why some are missing, or empty
};

}  // namespace

// The implementation. Runs on the server's thread, except start, stop and post.
class ServiceHealthServer::Loop {
 public:
  Loop(Healthy proxy_healthy, ServiceHealthOptions options, OnProblem on_problem)
      : proxy_healthy_(std::move(proxy_healthy)),
        on_problem_(std::move(on_problem)),
        options_(options),
        io_(1),
        clients_(options) {}

  void start() {
    thread_ = std::thread([this] { run(); });
  }

  void stop() {
    if (!thread_.joinable()) return;
    post([this] { close_all(); });
    thread_.join();
  }

  template <class Work>
  void post(Work work) {
    net::post(io_, std::move(work));
  }

  void set(Key key, std::uint16_t port, std::size_t local_endpoints) {
    if (stopped_) return;
    if (port == 0) {
      const auto found = services_.find(key);
      if (found == services_.end()) return;
      close_listeners(found->second);
      incomplete_.erase(key);
      services_.erase(found);
    } else {
      const auto [at, is_new] = services_.try_emplace(std::move(key));
      Service& service = at->second;
      service.key = &at->first;
      service.local_endpoints = local_endpoints;
      if (service.port != port) {
        close_listeners(service);
        service.port = port;
        service.problem.clear();
        incomplete_.insert(at->first);
      }
    }
    open_later();
  }

  void set_addresses(lib::Family family, std::optional<std::vector<lib::IpAddress>> addresses) {
    auto& wanted = addresses_[lib::family_index(family)];
    std::set<lib::IpAddress> now;
    if (addresses) {
      now.insert(addresses->begin(), addresses->end());
    } else {
      now.insert(lib::IpAddress::any(family));
    }
    if (stopped_ || now == wanted) return;
    wanted = std::move(now);
    for (auto& [key, service] : services_) {
      if (key.family != family) continue;
      close_unwanted(service);
      incomplete_.insert(key);
    }
    open_later();
  }

  std::vector<std::string> problems() {
    open_missing();
    std::vector<std::string> out;
    for (const Key& key : incomplete_) out.push_back(services_.at(key).problem);
    return out;
  }

 private:
  using ListenerPtr = std::shared_ptr<HttpListener>;

  // Ends when all sockets are closed and every handler has run.
  void run() {
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::exception& e) {  // affects a single connection
        base::log(base::message::kHealthConnectionFailed, std::string("health check node ports: ") + e.what(),
                  {{"error", e.what()}});
      }
    }
  }

  void close_all() {
    stopped_ = true;
    for (auto& [key, service] : services_) close_listeners(service);
    services_.clear();
    incomplete_.clear();
    retry_.cancel();
    work_.reset();
  }

  // Runs after all changes of a call of set(), so that ports close before others open, and a
  // port may move between Services in any order.
  void open_later() {
    if (incomplete_.empty() || opening_) return;
    opening_ = true;
    net::post(io_, [this] { open_missing(); });
  }

  void open_missing() {
    opening_ = false;
    std::erase_if(incomplete_, [this](const Key& key) { return open(services_.at(key)); });
    if (incomplete_.empty()) {
      retry_.cancel();
      return;
    }
    retry_.expires_after(options_.retry);
    retry_.async_wait([this](const error_code& error) {
      if (!error) open_missing();
    });
  }

  // False: not open; the reason is logged.
  bool open(Service& service) {
    std::map<lib::IpAddress, ListenerPtr> opened;
    for (const lib::IpAddress& address : addresses_[lib::family_index(service.key->family)]) {
      if (service.listeners.contains(address)) continue;
      // The Service outlives its listeners, because it closes them when it is removed.
      auto listener =
          std::make_shared<HttpListener>(io_, [this, &service](const HttpRequest&) { return answer(service); });
      const error_code error = listener->open(address, service.port);
      if (error) {  // the listeners in `opened` close, too
        report(service, address, error);
        return false;
      }
      opened.emplace(address, std::move(listener));
    }
    for (const auto& [address, listener] : opened) listener->accept(on_client_);
    service.listeners.merge(opened);
    if (!service.problem.empty()) {
      lines_.log(base::message::kHealthPortRecovered,
                 "Service " + service.key->to_string() + ": health check node port " + std::to_string(service.port) +
                     " is open now",
                 {{"service", service.key->to_string()}, {"port", service.port}});
      service.problem.clear();
    }
    return true;
  }

  void report(Service& service, const lib::IpAddress& address, const error_code& error) {
    std::string problem = "Service " + service.key->to_string() + ": cannot listen on health check node port " +
                          lib::host_port(address, service.port) + ": " + error.message() + "; ";
    const Service* owner = error == net::error::address_in_use ? owner_of(service) : nullptr;
    if (owner != nullptr) {
      problem += "Service " + owner->key->to_string() + " has the port; give one of them another healthCheckNodePort";
    } else if (error == net::error::address_in_use) {
      problem += "stop the process that has the port, or give the Service another healthCheckNodePort";
    } else if (const char* advice = advice_for_listening(error); advice != nullptr) {
      problem += advice;
    } else {
      problem += "check the addresses of this node and --nodeport-addresses";
    }
    problem += "; load balancers consider this node down; retrying";
    if (problem == service.problem) return;
    lines_.log(base::message::kHealthPortFailed, problem, {{"service", service.key->to_string()}, {"error", problem}});
    if (on_problem_) on_problem_(service.key->name_space, service.key->name, problem);
    service.problem = std::move(problem);
  }

  const Service* owner_of(const Service& asking) const {
    for (const auto& [key, service] : services_) {
      if (&service != &asking && key.family == asking.key->family && service.port == asking.port &&
          !service.listeners.empty()) {
        return &service;
      }
    }
    return nullptr;
  }

  void close_listeners(Service& service) {
    for (auto& [address, listener] : service.listeners) close(*listener);
    service.listeners.clear();
  }

  void close_unwanted(Service& service) {
    const auto& wanted = addresses_[lib::family_index(service.key->family)];
    std::erase_if(service.listeners, [&](auto& entry) {
      if (wanted.contains(entry.first)) return false;
      close(*entry.second);
      return true;
    });
  }

  void close(HttpListener& listener) {
    listener.close();
    clients_.close_from(listener);
  }

  HttpResponse answer(const Service& service) const {
    const bool healthy = proxy_healthy_();
    const std::size_t count = service.local_endpoints;
    return {count != 0 && healthy ? 200 : 503,
            "application/json",
            body_text(service.key->name_space, service.key->name, count, healthy),
            {{"X-Content-Type-Options", "nosniff"}, {"X-Load-Balancing-Endpoint-Weight", std::to_string(count)}}};
  }

  const Healthy proxy_healthy_;
  const OnProblem on_problem_;
  base::LogBudget lines_;
  const ServiceHealthOptions options_;
  const HttpListener::OnClient on_client_{
      [this](net::ip::tcp::socket socket, const std::shared_ptr<HttpListener>& from) {
        clients_.begin(std::move(socket), from);
      }};
  net::io_context io_;                                                                 // must outlive its handlers
  net::executor_work_guard<net::io_context::executor_type> work_{io_.get_executor()};  // until close_all()
  net::steady_timer retry_{io_};
  HttpClients clients_;
  bool stopped_ = false;
  std::array<std::set<lib::IpAddress>, 2> addresses_{std::set{lib::IpAddress::any(lib::Family::ipv4)},
                                                     std::set{lib::IpAddress::any(lib::Family::ipv6)}};
  std::map<Key, Service> services_;
  std::set<Key> incomplete_;  // Services whose port is not open
  bool opening_ = false;      // open_missing() is queued
  std::thread thread_;
};

ServiceHealthServer::ServiceHealthServer(Healthy proxy_healthy, ServiceHealthOptions options, OnProblem on_problem)
    : loop_(std::make_unique<Loop>(std::move(proxy_healthy), options, std::move(on_problem))) {}

ServiceHealthServer::~ServiceHealthServer() { stop(); }

void ServiceHealthServer::start() { loop_->start(); }

void ServiceHealthServer::stop() { loop_->stop(); }

void ServiceHealthServer::set(lib::Family family, std::vector<ServiceHealthUpdate> updates) {
  loop_->post([loop = loop_.get(), family, updates = std::move(updates)]() mutable {
    for (auto& update : updates) {
      loop->set({family, std::move(update.name_space), std::move(update.name)}, update.port, update.local_endpoints);
    }
  });
}

void ServiceHealthServer::set_addresses(lib::Family family, std::optional<std::vector<lib::IpAddress>> addresses) {
  loop_->post([loop = loop_.get(), family, addresses = std::move(addresses)]() mutable {
    loop->set_addresses(family, std::move(addresses));
  });
}

std::vector<std::string> ServiceHealthServer::problems() {
  std::promise<std::vector<std::string>> promise;
  auto result = promise.get_future();
  loop_->post([loop = loop_.get(), &promise] { promise.set_value(loop->problems()); });
  return result.get();
}

}  // namespace sluice::observe
