#include "berth/server/access/decision.h"

#include <algorithm>
#include <utility>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/server/field_selector.h"
#include "berth/store/errors.h"

namespace berth::server {
namespace {

using store::quote;

/// Messages may end up in a browser: Kubernetes escapes what HTML would read.
std::string without_markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    default:
      out += c;
    }
  }
  return out;
}

std::string what_is_refused(const User& user, const RequestInfo& what) {
  if (!what.is_resource) {
    return fmt::format("User {} cannot {} path {}", quote(user.name), what.verb, quote(what.path));
  }
  const std::string resource =
      what.subresource.empty() ? what.resource : what.resource + "/" + what.subresource;
  const std::string where =
      what.ns.empty() ? "at the cluster scope" : "in the namespace " + quote(what.ns);
  return fmt::format("User {} cannot {} resource {} in API group {} {}", quote(user.name),
                     what.verb, quote(resource), quote(what.group), where);
}

bool is_path_segment(std::string_view name) {
  return name != "." && name != ".." && name.find_first_of("/%") == std::string_view::npos;
}

} // namespace

RequestInfo named_by_selector(RequestInfo info, const net::HttpHeaders& query) {
  if (!info.is_resource || !info.name.empty() || (info.verb != "list" && info.verb != "watch")) {
    return info;
  }
  if (auto name = selected_name(parameter(query, "fieldSelector"));
      name && is_path_segment(*name)) {
    info.name = *std::move(name);
  }
  return info;
}

Status forbidden(const User& user, const RequestInfo& what, std::string_view reason) {
  std::string message = without_markup(what_is_refused(user, what));
  if (!reason.empty()) {
    message += fmt::format(": {}", reason);
  }
  const std::string subject =
      what.group.empty() ? what.resource : fmt::format("{}.{}", what.resource, what.group);
  boost::json::object details;
  if (!what.is_resource) {
    message = "forbidden: " + message;
  } else if (what.name.empty()) {
    message = fmt::format("{} is forbidden: {}", subject, message);
  } else {
    message = fmt::format("{} {} is forbidden: {}", subject, quote(what.name), message);
  }
  if (what.is_resource) {
    if (!what.name.empty()) {
      details["name"] = what.name;
    }
    if (!what.group.empty()) {
      details["group"] = what.group;
    }
    details["kind"] = what.resource;
  }
  return {.code = 403,
          .reason = "Forbidden",
          .message = std::move(message),
          .details = std::move(details)};
}

bool in_group(const User& user, std::string_view group) {
  return std::ranges::find(user.groups, group) != user.groups.end();
}

bool is_master(const User& user) {
  return in_group(user, kMasters);
}

} // namespace berth::server
