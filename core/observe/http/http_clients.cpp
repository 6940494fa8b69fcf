// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/http/http_clients.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/log_messages.hpp"

namespace sluice::observe {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using net::ip::tcp;

// The status for a malformed request; ok when no answer is sent.
http::status refusal(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return http::status::request_header_fields_too_large;
  }
  if (error == http::error::body_limit) return http::status::payload_too_large;
  const bool silent = error == http::error::end_of_stream || error == http::error::partial_message;
  return !silent && error.category() == http::make_error_code(http::error::end_of_stream).category()
             ? http::status::bad_request
             : http::status::ok;
}

// A proxy may send the absolute form "http://host/path".
std::string without_host(std::string target) {
  constexpr std::string_view kScheme = "http://";
  if (!target.starts_with(kScheme)) return target;
  const std::size_t path = target.find_first_of("/?", kScheme.size());
  target.erase(0, path);
  return target.starts_with('/') ? target : "/" + target;
}

HttpRequest request_of(http::request<http::string_body>&& message) {
  HttpRequest out;
  out.method = std::string(message.method_string());
  out.path = without_host(std::string(message.target()));
  if (const std::size_t mark = out.path.find('?'); mark != std::string::npos) {
    out.query = out.path.substr(mark + 1);
    out.path.resize(mark);
  }
  out.accept = std::string(message[http::field::accept]);
  out.body = std::move(message.body());
  return out;
}

// The status line and the header fields. Beast's serializer would take a sixth of the time to compile this folder.
std::string head_of(const HttpResponse& response, unsigned version, bool keep_alive) {
  std::string head = version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  head += std::to_string(response.status) + " ";
  const auto reason = http::obsolete_reason(static_cast<http::status>(response.status));
  head.append(reason.data(), reason.size());
  const auto field = [&head](std::string_view name, std::string_view value) {
    head.append("\r\n").append(name).append(": ").append(value);
  };
  if (!response.content_type.empty()) field("Content-Type", response.content_type);
  for (const auto& [name, value] : response.headers) field(name, value);
  field("Content-Length", std::to_string(response.body.size()));
  if (!keep_alive) field("Connection", "close");
  if (keep_alive && version == 10) field("Connection", "keep-alive");
  return head + "\r\n\r\n";
}

}  // namespace

struct HttpClients::Client {
  Client(tcp::socket socket, std::shared_ptr<HttpListener> from, const HttpLimits& limits)
      : stream(std::move(socket)), listener(std::move(from)), buffer(limits.header_limit + limits.body_limit) {}
  beast::tcp_stream stream;
  const std::shared_ptr<HttpListener> listener;
  beast::flat_buffer buffer;
  std::optional<http::request_parser<http::string_body>> parser;  // new for each request
  std::string head;  // of the response being sent
  std::string body;
  bool keep_alive = false;
  bool closed = false;
  Clients::iterator place;
};

HttpClients::HttpClients(const HttpLimits& limits) : limits_(limits) {}

HttpClients::~HttpClients() = default;

void HttpClients::begin(tcp::socket socket, const std::shared_ptr<HttpListener>& from) {
  if (clients_.size() >= limits_.max_clients) close(*clients_.front());
  auto client = std::make_shared<Client>(std::move(socket), from, limits_);
  client->place = clients_.insert(clients_.end(), client);
  read(client, limits_.request_time);
}

void HttpClients::close_from(const HttpListener& listener) {
  for (auto at = clients_.begin(); at != clients_.end();) {
    const ClientPtr client = *at++;
    if (client->listener.get() == &listener) close(*client);
  }
}

void HttpClients::read(const ClientPtr& client, std::chrono::milliseconds limit) {
  client->parser.emplace();
  client->parser->header_limit(static_cast<std::uint32_t>(limits_.header_limit));
  client->parser->body_limit(limits_.body_limit);
  client->stream.expires_after(limit);
  http::async_read(client->stream, client->buffer, *client->parser,
                   [this, client](const error_code& error, std::size_t) {
                     if (client->closed) return;
                     if (!error) {
                       answer(client);
                     } else if (const http::status status = refusal(error); status != http::status::ok) {
                       refuse(client, status);
                     } else {
                       close(*client);
                     }
                   });
}

void HttpClients::answer(const ClientPtr& client) {
  clients_.splice(clients_.end(), clients_, client->place);
  auto message = client->parser->release();
  const unsigned version = message.version();
  const bool keep_alive = message.keep_alive();
  const bool head = message.method() == http::verb::head;
  HttpResponse made;
  try {
    made = client->listener->handler()(request_of(std::move(message)));
  } catch (const std::exception& e) {
    base::log(base::message::kHttpRequestFailed, std::string("cannot answer HTTP request: ") + e.what(),
              {{"error", e.what()}});
    refuse(client, http::status::internal_server_error);
    return;
  }

  client->head = head_of(made, version, keep_alive);
  client->keep_alive = keep_alive;
  if (!head) client->body = std::move(made.body);
  write(client);
}

void HttpClients::refuse(const ClientPtr& client, http::status status) {
  HttpResponse made;
  made.status = static_cast<int>(status);
  made.content_type.clear();
  client->head = head_of(made, 11, false);
  client->keep_alive = false;
  write(client);
}

void HttpClients::write(const ClientPtr& client) {
  bytes_in_answers_ += client->body.size();
  make_room_for_answers(*client);
  client->stream.expires_after(limits_.response_time);
  const std::array<net::const_buffer, 2> response{net::buffer(client->head), net::buffer(client->body)};
  net::async_write(client->stream, response, [this, client](const error_code& error, std::size_t) {
    if (client->closed) return;
    forget_answer(*client);
    if (error || !client->keep_alive) {
      close(*client);
    } else {
      read(client, limits_.idle_time);
    }
  });
}

// Closes the clients with the oldest unsent answers, but never the latest one.
void HttpClients::make_room_for_answers(const Client& latest) {
  for (auto at = clients_.begin(); bytes_in_answers_ > limits_.answers_limit && at != clients_.end();) {
    const ClientPtr client = *at++;
    if (!client->body.empty() && client.get() != &latest) close(*client);
  }
}

void HttpClients::forget_answer(Client& client) {
  bytes_in_answers_ -= client.body.size();
  client.head = {};
  client.body = {};
}

void HttpClients::close(Client& client) {
  client.closed = true;
  bytes_in_answers_ -= client.body.size();  // the body itself may be in use until the operation ends
  error_code ignored;
  client.stream.socket().shutdown(tcp::socket::shutdown_both, ignored);
  client.stream.close();
  clients_.erase(client.place);  // may have been the last reference
}

}  // namespace sluice::observe
