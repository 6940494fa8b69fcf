// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/api_client.hpp"

#include <cpprest/http_client.h>
#include <cpprest/streams.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pplx/threadpool.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <list>
#include <mutex>
#include <utility>

#include "core/kube/host_resolver.hpp"
#include "core/kube/tls_context.hpp"

namespace sluice::kube {
namespace {

namespace http = web::http;
using HttpClient = http::client::http_client;

constexpr auto kResolveLimit = std::chrono::seconds(15);
constexpr auto kProbeLimit = std::chrono::seconds(1);
constexpr auto kCancelGrace = std::chrono::milliseconds(300);
constexpr std::size_t kMaxPending = 256u << 10;

#if defined(__x86_64__)
constexpr const char* kPlatform = "linux/amd64";
#elif defined(__aarch64__)
constexpr const char* kPlatform = "linux/arm64";
#else
constexpr const char* kPlatform = "linux";
#endif

base::Status stopped_status() { return {base::StatusCode::unavailable, "stopped", ECANCELED}; }

// One request under way, shared by the waiting thread and the library's threads. The
// body is handed over in a small buffer: a full one holds back the library's next read
// and so, through TCP, the server.
struct Exchange {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<ResponseHead> head;
  std::string pending;
  std::optional<pplx::task_completion_event<void>> waiting;  // of a write the buffer had no room for
  bool finished = false;
  bool stopped = false;
  std::exception_ptr failure;
  pplx::cancellation_token_source cancel;

  void finish(std::exception_ptr why = nullptr) {
    const std::lock_guard lock(mutex);
    finished = true;
    failure = std::move(why);
    changed.notify_all();
  }
  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopped = true;
      changed.notify_all();
    }
    release();
    cancel.cancel();
  }
  // Lets a held-back write go on.
  void release() {
    std::optional<pplx::task_completion_event<void>> event;
    {
      const std::lock_guard lock(mutex);
      event.swap(waiting);
    }
    if (event) event->set();
  }
};

// Takes what the library writes; everything else a stream can do is refused.
class ExchangeBuffer final : public concurrency::streams::details::streambuf_state_manager<uint8_t> {
  using Base = concurrency::streams::details::streambuf_state_manager<uint8_t>;

 public:
  explicit ExchangeBuffer(std::shared_ptr<Exchange> exchange)
      : Base(std::ios_base::out), exchange_(std::move(exchange)) {}

  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(size_t, std::ios_base::openmode) override {}
  size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return static_cast<pos_type>(traits::eof()); }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return static_cast<pos_type>(traits::eof()); }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override {
    return static_cast<pos_type>(traits::eof());
  }
  bool acquire(uint8_t*& pointer, size_t& count) override {
    pointer = nullptr;
    count = 0;
    return false;
  }
  void release(uint8_t*, size_t) override {}

 protected:
  pplx::task<int_type> _putc(uint8_t byte) override {
    return _putn(&byte, 1).then([byte](size_t) { return static_cast<int_type>(byte); });
  }
  pplx::task<size_t> _putn(const uint8_t* data, size_t count) override {
    const std::lock_guard lock(exchange_->mutex);
    exchange_->pending.append(reinterpret_cast<const char*>(data), count);
    exchange_->changed.notify_all();
    if (exchange_->pending.size() < kMaxPending || exchange_->stopped) return pplx::task_from_result(count);
    pplx::task_completion_event<void> room;
    exchange_->waiting = room;
    return pplx::create_task(room).then([count] { return count; });
  }
  pplx::task<size_t> _putn(const uint8_t* data, size_t count, bool) override { return _putn(data, count); }
  pplx::task<int_type> _bumpc() override { return pplx::task_from_result(static_cast<int_type>(traits::eof())); }
  int_type _sbumpc() override { return traits::eof(); }
  pplx::task<int_type> _getc() override { return pplx::task_from_result(static_cast<int_type>(traits::eof())); }
  int_type _sgetc() override { return traits::eof(); }
  pplx::task<int_type> _nextc() override { return pplx::task_from_result(static_cast<int_type>(traits::eof())); }
  pplx::task<int_type> _ungetc() override { return pplx::task_from_result(static_cast<int_type>(traits::eof())); }
  pplx::task<size_t> _getn(uint8_t*, size_t) override { return pplx::task_from_result<size_t>(0); }
  size_t _scopy(uint8_t*, size_t) override { return 0; }
  pplx::task<bool> _sync() override { return pplx::task_from_result(true); }
  uint8_t* _alloc(size_t) override { return nullptr; }
  void _commit(size_t) override {}

 private:
  const std::shared_ptr<Exchange> exchange_;
};

// A client for one address; the library keeps its idle connections for the next request.
struct Endpoint {
  base::IpAddress address;
  ConnectionSecrets secrets;
  std::shared_ptr<VerifyReport> report = std::make_shared<VerifyReport>();
  std::unique_ptr<HttpClient> client;
};

void tune_socket(void* handle, bool tls, base::Family family) {
  // What the library hands out depends on the scheme of the URL.
  using Socket = boost::asio::ip::tcp::socket;
  Socket& socket =
      tls ? static_cast<boost::asio::ssl::stream<Socket&>*>(handle)->next_layer() : *static_cast<Socket*>(handle);
  // Not open yet; the library keeps a socket that is.
  boost::system::error_code failed;
  socket.open(family == base::Family::ipv4 ? boost::asio::ip::tcp::v4() : boost::asio::ip::tcp::v6(), failed);
  if (failed) return;
  const auto set = [&](int level, int option, int value) {
    // A kernel without one of them only notices a dead peer later.
    static_cast<void>(::setsockopt(socket.native_handle(), level, option, &value, sizeof value));
  };
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);  // not for the tools the daemon runs
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
  set(IPPROTO_TCP, TCP_SYNCNT, 4);  // gives up connecting after about 30 s
}

std::unique_ptr<Endpoint> open_endpoint(const ConnectionConfig& config, const base::IpAddress& address,
                                        const ConnectionSecrets& secrets, std::chrono::seconds idle, bool compress) {
  auto out = std::make_unique<Endpoint>();
  out->address = address;
  out->secrets = secrets;
  http::client::http_client_config options;
  options.set_timeout(idle);
  options.set_max_redirects(0);  // following one would show our credentials to another server
  options.set_request_compressed_response(compress);
  options.set_validate_certificates(!config.insecure_skip_tls_verify);
  options.set_nativehandle_options(
      [tls = config.server.tls, family = address.family()](void* handle) { tune_socket(handle, tls, family); });
  options.set_ssl_context_callback([config, secrets, report = out->report](boost::asio::ssl::context& context) {
    const auto status = configure_tls(context.native_handle(), config, secrets, report);
    if (!status.ok()) throw std::runtime_error(status.message());
  });
  // Without brackets also for IPv6: the library hands the host to the resolver as it is.
  const std::string base = std::string(config.server.tls ? "https://" : "http://") + address.to_string() + ":" +
                           std::to_string(config.server.port);
  out->client = std::make_unique<HttpClient>(base, options);
  return out;
}

ResponseHead read_head(const http::http_response& response) {
  ResponseHead out;
  out.status = response.status_code();
  const auto& headers = response.headers();
  if (const auto it = headers.find("Content-Type"); it != headers.end()) out.content_type = it->second;
  if (const auto it = headers.find("Retry-After"); it != headers.end()) {
    long seconds = 0;
    const auto [end, error] = std::from_chars(it->second.data(), it->second.data() + it->second.size(), seconds);
    if (error == std::errc() && end != it->second.data() && seconds >= 0) {
      out.retry_after = std::chrono::seconds(std::min(seconds, 3600L));
    }
  }
  return out;
}

}  // namespace

class ApiClient::Impl {
 public:
  Impl(ConnectionConfig config, ApiClientOptions options)
      : credentials_(std::move(config)), options_(std::move(options)) {
    static std::once_flag once;
    std::call_once(once, [] {
      try {
        // The default of 40 threads costs five times the CPU of two.
        crossplat::threadpool::initialize_with_threads(2);
      } catch (const std::exception&) {
        // Somebody was first; it works with theirs too.
      }
    });
  }

  const ConnectionConfig& config() const { return credentials_.config(); }

  base::Status get(const Request& request, ResponseSink& sink) {
    auto secrets = credentials_.load();
    if (!secrets) return secrets.status();
    const auto addresses = resolve_host(config().server.host, kResolveLimit, [this] { return stopped(); });
    if (stopped()) return stopped_status();
    if (!addresses) return unreachable(addresses.status().message());
    const base::IpAddress address = pick(*addresses);
    const bool keep = !request.watch;
    std::shared_ptr<Endpoint> endpoint = keep ? take_kept(address, *secrets) : nullptr;
    const auto idle = request.watch ? options_.watch_idle : options_.list_idle;
    if (endpoint == nullptr) {
      endpoint = open_endpoint(config(), address, *secrets, idle, !request.watch && !config().disable_compression);
      if (keep) keep_for_later(endpoint);
    }

    const auto exchange = std::make_shared<Exchange>();
    if (!enter(exchange)) return stopped_status();
    send(*endpoint, request, exchange);
    base::Status status = wait(*exchange, sink, *endpoint, idle);
    leave(exchange);
    if (!status.ok()) {
      if (status.code() == base::StatusCode::unavailable || status.code() == base::StatusCode::denied)
        try_next_address();
      if (keep) forget(endpoint);
    }
    return status;
  }

  void stop() {
    std::list<std::shared_ptr<Exchange>> running;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      running = running_;
    }
    for (const auto& exchange : running) exchange->stop();
  }

 private:
  bool stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }
  bool enter(const std::shared_ptr<Exchange>& exchange) {
    const std::lock_guard lock(mutex_);
    if (!stopped_) running_.push_back(exchange);
    return !stopped_;
  }
  void leave(const std::shared_ptr<Exchange>& exchange) {
    const std::lock_guard lock(mutex_);
    running_.remove(exchange);
  }

  base::IpAddress pick(const std::vector<base::IpAddress>& addresses) const {
    const std::lock_guard lock(mutex_);
    return addresses[next_address_ % addresses.size()];
  }
  void try_next_address() {
    const std::lock_guard lock(mutex_);
    ++next_address_;
  }

  std::shared_ptr<Endpoint> take_kept(const base::IpAddress& address, const ConnectionSecrets& secrets) const {
    const std::lock_guard lock(mutex_);
    const bool fits = kept_ != nullptr && kept_->address == address && kept_->secrets == secrets;
    return fits ? kept_ : nullptr;
  }
  void keep_for_later(const std::shared_ptr<Endpoint>& endpoint) {
    const std::lock_guard lock(mutex_);
    kept_ = endpoint;
  }
  void forget(const std::shared_ptr<Endpoint>& endpoint) {
    const std::lock_guard lock(mutex_);
    if (kept_ == endpoint) kept_ = nullptr;
  }

  void send(const Endpoint& endpoint, const Request& request, const std::shared_ptr<Exchange>& exchange) const {
    http::http_request message(http::methods::GET);
    auto& headers = message.headers();
    headers.add("Accept", "application/json");
    headers.add("User-Agent", "sluiced/" + options_.version + " (" + kPlatform + ")");
    if (!endpoint.secrets.authorization.empty()) headers.add("Authorization", endpoint.secrets.authorization);
    // The library takes the name to verify and to send as SNI from here, without a port.
    const std::string& name = config().tls_server_name.empty() ? config().server.host : config().tls_server_name;
    if (!base::IpAddress::parse(name)) headers.add("Host", name);
    message.set_response_stream(
        concurrency::streams::streambuf<uint8_t>(std::make_shared<ExchangeBuffer>(exchange)).create_ostream());

    try {
      message.set_request_uri(web::uri(config().server.base_path + request.target()));
      endpoint.client->request(message, exchange->cancel.get_token())
          .then([exchange](const http::http_response& response) {
            {
              const std::lock_guard lock(exchange->mutex);
              exchange->head = read_head(response);
              exchange->changed.notify_all();
            }
            return response.content_ready();
          })
          // The last one sees every failure: one that nobody looks at would end the process.
          .then([exchange](const pplx::task<http::http_response>& task) {
            try {
              task.get();
              exchange->finish();
            } catch (...) {
              exchange->finish(std::current_exception());
            }
          });
    } catch (...) {
      exchange->finish(std::current_exception());
    }
  }

  // Tells the sink what arrives until the end, in the caller's thread.
  base::Status wait(Exchange& exchange, ResponseSink& sink, const Endpoint& endpoint, std::chrono::seconds idle) const {
    bool head_told = false;
    std::string bytes;
    base::Status refused;
    std::unique_lock lock(exchange.mutex);
    while (refused.ok()) {
      exchange.changed.wait(lock, [&] {
        return exchange.stopped || exchange.finished || (exchange.head && (!head_told || !exchange.pending.empty()));
      });
      if (exchange.stopped) {
        refused = stopped_status();
      } else if (exchange.head && !head_told) {
        head_told = true;
        const ResponseHead head = *exchange.head;
        lock.unlock();
        refused = sink.on_head(head);
        lock.lock();
      } else if (head_told && !exchange.pending.empty()) {
        bytes.clear();
        bytes.swap(exchange.pending);
        lock.unlock();
        exchange.release();
        refused = sink.on_body(bytes);
        lock.lock();
      } else {
        const std::exception_ptr failure = exchange.failure;
        lock.unlock();
        return failure ? explain(failure, endpoint, idle) : base::Status();
      }
    }
    lock.unlock();
    exchange.stop();
    lock.lock();
    // The library ends the task within milliseconds; if not, it ends without us.
    exchange.changed.wait_for(lock, kCancelGrace, [&] { return exchange.finished; });
    return refused;
  }

  base::Status unreachable(const std::string& reason) const {
    return base::unavailable("cannot reach the API server " + config().server.to_string() + ": " + reason);
  }

  base::Status explain(const std::exception_ptr& failure, const Endpoint& endpoint, std::chrono::seconds idle) const {
    try {
      std::rethrow_exception(failure);
    } catch (const http::http_exception& error) {
      return explain_code(error.error_code().value(), endpoint, idle);
    } catch (const std::exception& error) {
      return unreachable(error.what());
    } catch (...) {
      return {base::StatusCode::internal, "the HTTP library failed for an unknown reason"};
    }
  }

  // The codes are of several categories that the library mixes up; the number alone counts.
  base::Status explain_code(int code, const Endpoint& endpoint, std::chrono::seconds idle) const {
    const std::string server = "the API server " + config().server.to_string();
    if (const auto tls = tls_error_text(static_cast<unsigned>(code)); !tls.empty()) {
      const auto reason = endpoint.report->sentence(config());
      return {base::StatusCode::denied, "no TLS connection with " + server + ": " + (reason.empty() ? tls : reason)};
    }
    switch (code) {
      case ECANCELED:
        return stopped_status();
      case ETIMEDOUT:
        return {base::StatusCode::unavailable,
                server + " has sent nothing for " + std::to_string(idle.count()) + " seconds", ETIMEDOUT};
      case EHOSTUNREACH: {
        // Also what a refused connection is reported as.
        const auto probe = probe_connect(endpoint.address, config().server.port, kProbeLimit);
        return unreachable(probe.ok() ? "the connection failed; it works again" : probe.message());
      }
      case 0:
        return base::unavailable(server + " sent a broken HTTP answer");
      case 1:
      case 2:
        return {base::StatusCode::unavailable, server + " has closed the connection", ECONNRESET};
      default:
        return {base::StatusCode::unavailable,
                base::errno_status("the connection with " + server + " failed", code).message(), code};
    }
  }

  Credentials credentials_;
  const ApiClientOptions options_;
  mutable std::mutex mutex_;
  bool stopped_ = false;
  std::list<std::shared_ptr<Exchange>> running_;
  std::size_t next_address_ = 0;
  std::shared_ptr<Endpoint> kept_;
};

ApiClient::ApiClient(ConnectionConfig config, ApiClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(options))) {}
ApiClient::~ApiClient() { stop(); }
base::Status ApiClient::get(const Request& request, ResponseSink& sink) { return impl_->get(request, sink); }
void ApiClient::stop() { impl_->stop(); }
std::string ApiClient::server() const { return impl_->config().server.to_string(); }
const ConnectionConfig& ApiClient::config() const { return impl_->config(); }

}  // namespace sluice::kube
