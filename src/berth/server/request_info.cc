#include "berth/server/request_info.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace berth::server {
namespace {

std::vector<std::string> segments(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (const std::string_view part = path.substr(0, slash); !part.empty()) {
      parts.emplace_back(part);
    }
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return parts;
}

std::string verb_of(std::string_view method, bool named, const net::HttpHeaders& query) {
  if (method == "POST") {
    return "create";
  }
  if (method == "PUT") {
    return "update";
  }
  if (method == "PATCH") {
    return "patch";
  }
  if (method == "DELETE") {
    return named ? "delete" : "deletecollection";
  }
  if (method == "GET" || method == "HEAD") {
    return named ? "get" : flag(query, "watch") ? "watch" : "list";
  }
  return "";
}

bool is_namespace_subresource(std::string_view part) {
  return part == "status" || part == "finalize";
}

} // namespace

std::string_view parameter(const net::HttpHeaders& query, std::string_view name) {
  const auto at = std::ranges::find(query, name, &net::HttpHeaders::value_type::first);
  return at == query.end() ? std::string_view() : std::string_view(at->second);
}

bool flag(const net::HttpHeaders& query, std::string_view name) {
  const auto at = std::ranges::find(query, name, &net::HttpHeaders::value_type::first);
  return at != query.end() && at->second != "false" && at->second != "0" && !at->second.empty();
}

RequestInfo request_info(const net::HttpRequest& request, const net::HttpHeaders& query) {
  RequestInfo info;
  info.path = request.path();
  std::ranges::transform(request.method, std::back_inserter(info.verb),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::vector<std::string> parts = segments(request.path());
  std::size_t at = 0;
  if (parts.size() >= 2 && parts[0] == "api") {
    info.version = parts[1];
    at = 2;
  } else if (parts.size() >= 3 && parts[0] == "apis") {
    info.group = parts[1];
    info.version = parts[2];
    at = 3;
  } else {
    return info;
  }
  if (at == parts.size()) {
    return info; // discovery of one version
  }
  info.is_resource = true;
  if (parts[at] == "namespaces" && at + 1 < parts.size()) {
    info.ns = parts[at + 1];
    if (at + 2 < parts.size() && !(info.group.empty() && is_namespace_subresource(parts[at + 2]))) {
      at += 2;
    }
  }
  info.resource = parts[at];
  info.name = at + 1 < parts.size() ? parts[at + 1] : "";
  for (std::size_t rest = at + 2; rest < parts.size(); ++rest) {
    info.subresource += (info.subresource.empty() ? "" : "/") + parts[rest];
  }
  info.verb = verb_of(request.method, !info.name.empty(), query);
  return info;
}

} // namespace berth::server
