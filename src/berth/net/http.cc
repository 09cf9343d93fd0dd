#include "berth/net/http.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <boost/url/encode.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <fmt/format.h>

namespace berth::net {
namespace {

constexpr std::uint16_t kPort = 80;
constexpr std::uint16_t kTlsPort = 443;

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view one_line(std::string_view text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

std::string header_lines(const HttpHeaders& headers) {
  std::string out;
  for (const auto& [name, value] : headers) {
    if (!same_name(name, "Content-Length") && !same_name(name, "Connection")) {
      out += fmt::format("{}: {}\r\n", one_line(name), one_line(value));
    }
  }
  return out;
}

std::string_view phrase(int status) {
  switch (status) {
  case 101:
    return "Switching Protocols";
  case 200:
    return "OK";
  case 201:
    return "Created";
  case 202:
    return "Accepted";
  case 204:
    return "No Content";
  case 400:
    return "Bad Request";
  case 401:
    return "Unauthorized";
  case 403:
    return "Forbidden";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 406:
    return "Not Acceptable";
  case 408:
    return "Request Timeout";
  case 409:
    return "Conflict";
  case 410:
    return "Gone";
  case 413:
    return "Content Too Large";
  case 415:
    return "Unsupported Media Type";
  case 422:
    return "Unprocessable Content";
  case 429:
    return "Too Many Requests";
  case 431:
    return "Request Header Fields Too Large";
  case 500:
    return "Internal Server Error";
  case 501:
    return "Not Implemented";
  case 502:
    return "Bad Gateway";
  case 503:
    return "Service Unavailable";
  case 504:
    return "Gateway Timeout";
  case 505:
    return "HTTP Version Not Supported";
  default:
    return "Status";
  }
}

} // namespace

std::string_view header_of(const HttpHeaders& headers, std::string_view name) {
  const auto it = std::ranges::find_if(
      headers, [&](const auto& header) { return same_name(header.first, name); });
  return it == headers.end() ? std::string_view() : std::string_view(it->second);
}

std::string_view HttpRequest::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::optional<std::string> HttpRequest::query(std::string_view name) const {
  for (auto& [key, value] : parameters()) {
    if (key == name) {
      return std::move(value);
    }
  }
  return std::nullopt;
}

HttpHeaders HttpRequest::parameters() const {
  HttpHeaders all;
  if (const auto parsed = boost::urls::parse_origin_form(target)) {
    boost::urls::encoding_opts form;
    form.space_as_plus = true;
    for (const auto& parameter : parsed->params(form)) {
      all.emplace_back(parameter.key, parameter.value);
    }
  }
  return all;
}

std::string take_body(HttpResponse& response) {
  std::string body = std::move(response.body);
  if (const auto pieces = std::exchange(response.pieces, nullptr)) {
    body.clear();
    for (std::string piece = pieces->next(); !piece.empty(); piece = pieces->next()) {
      body += piece;
    }
  }
  return body;
}

HttpResponse text_response(int status, std::string text) {
  text += '\n';
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::move(text)};
}

HttpResponse json_response(int status, std::string json) {
  return {
      .status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(json)};
}

std::string upgrade_bytes(const HttpRequest& request, std::string_view host) {
  return fmt::format(
      "{} {} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\n{}Content-Length: 0\r\n\r\n",
      one_line(request.method), one_line(request.target), one_line(host),
      header_lines(request.headers));
}

std::string to_bytes(const HttpRequest& request, std::string_view host) {
  const bool sends_body = !request.body.empty() || request.method == "POST" ||
                          request.method == "PUT" || request.method == "PATCH";
  return fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n{}{}{}\r\n{}", one_line(request.method),
                     one_line(request.target), one_line(host), header_lines(request.headers),
                     sends_body ? fmt::format("Content-Length: {}\r\n", request.body.size()) : "",
                     request.keep_alive ? "" : "Connection: close\r\n", request.body);
}

std::string to_bytes(HttpResponse response, Body body) {
  const std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n{}Content-Length: {}\r\nConnection: {}\r\n\r\n",
                  response.status, phrase(response.status), header_lines(response.headers),
                  response.pieces ? response.pieces->size() : response.body.size(),
                  response.keep_alive ? "keep-alive" : "close");
  if (body == Body::Omit || response.pieces) {
    return head;
  }
  std::string bytes = std::move(response.body);
  bytes.insert(0, head);
  return bytes;
}

std::string chunked_head(const HttpResponse& response) {
  return fmt::format("HTTP/1.1 {} {}\r\n{}Transfer-Encoding: chunked\r\nConnection: {}\r\n\r\n",
                     response.status, phrase(response.status), header_lines(response.headers),
                     response.keep_alive ? "keep-alive" : "close");
}

std::string switching_head(const HttpHeaders& headers) {
  return fmt::format("HTTP/1.1 101 {}\r\nConnection: Upgrade\r\n{}\r\n", phrase(101),
                     header_lines(headers));
}

std::vector<std::string> list_in_header(const HttpHeaders& headers, std::string_view name) {
  std::vector<std::string> all;
  for (const auto& [key, value] : headers) {
    if (!same_name(key, name)) {
      continue;
    }
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      std::string_view one = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      while (!one.empty() && (one.front() == ' ' || one.front() == '\t')) {
        one.remove_prefix(1);
      }
      while (!one.empty() && (one.back() == ' ' || one.back() == '\t')) {
        one.remove_suffix(1);
      }
      if (!one.empty()) {
        all.emplace_back(one);
      }
    }
  }
  return all;
}

bool asks_to_upgrade(const HttpRequest& request) {
  return std::ranges::any_of(list_in_header(request.headers, "Connection"),
                             [](const std::string& one) { return same_name(one, "upgrade"); }) &&
         !header_of(request.headers, "Upgrade").empty();
}

bool asks_to_upgrade(const HttpRequest& request, std::string_view protocol) {
  return asks_to_upgrade(request) && same_name(header_of(request.headers, "Upgrade"), protocol);
}

std::string to_chunk(std::string_view bytes) {
  return bytes.empty() ? std::string() : fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

Result<HttpUrl> HttpUrl::parse(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return fail(Code::BadRequest,
                fmt::format("\"{}\" is no URL to send requests to: {}; try http://host:port/path",
                            text, why));
  };
  const std::string whole = text.find("://") == std::string_view::npos
                                ? fmt::format("http://{}", text)
                                : std::string(text);
  const auto url = boost::urls::parse_uri(whole);
  if (!url) {
    return wrong("it does not parse");
  }
  if (url->scheme() != "http" && url->scheme() != "https") {
    return wrong("its scheme is neither http nor https");
  }
  if (url->has_userinfo() || url->has_query() || url->has_fragment()) {
    return wrong("user names, queries and fragments have no meaning here");
  }
  HttpUrl out{.tls = url->scheme() == "https"};
  out.port = out.tls ? kTlsPort : kPort;
  out.host = url->host_address();
  if (out.host.empty()) {
    return wrong("it names no host");
  }
  if (const std::string_view port = url->port(); !port.empty()) {
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (error != std::errc() || end != port.data() + port.size() || out.port == 0) {
      return wrong("its port is not in 1-65535");
    }
  }
  out.path = url->encoded_path();
  while (out.path.ends_with('/')) {
    out.path.pop_back();
  }
  return out;
}

std::string HttpUrl::authority() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

std::string HttpUrl::to_string() const {
  return fmt::format("{}://{}{}", tls ? "https" : "http", authority(), path);
}

} // namespace berth::net
