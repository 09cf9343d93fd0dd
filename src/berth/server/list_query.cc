#include "berth/server/list_query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/api/selector.h"
#include "berth/server/event_views.h"
#include "berth/server/field_selector.h"

namespace berth::server {

namespace json = boost::json;

namespace {

template <class T> std::optional<T> number(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

Answer<std::optional<std::int64_t>> integer(const net::HttpHeaders& query, std::string_view name) {
  const std::string_view text = parameter(query, name);
  if (text.empty()) {
    return std::nullopt;
  }
  if (const auto value = number<std::int64_t>(text)) {
    return value;
  }
  return bad_request(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", text));
}

std::string not_a_version(std::string_view text) {
  return fmt::format("resourceVersion: Invalid value: \"{}\": strconv.ParseUint: parsing \"{}\": "
                     "invalid syntax",
                     text, text);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

tl::unexpected<Status> wrong(std::string field, std::string message) {
  return tl::unexpected(
      invalid_options("ListOptions", {.field = std::move(field), .message = std::move(message)}));
}

/// resourceVersionMatch, sendInitialEvents and continue against each other.
Answer<void> check_watch(const ListQuery& query, bool sends_initial) {
  if (sends_initial && query.version_match != "NotOlderThan") {
    return wrong("resourceVersionMatch", "Forbidden: sendInitialEvents requires setting "
                                         "resourceVersionMatch to NotOlderThan");
  }
  if (!sends_initial && !query.version_match.empty()) {
    return wrong("resourceVersionMatch",
                 "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents "
                 "is provided");
  }
  return {};
}

Answer<void> check_list(const ListQuery& query, bool sends_initial) {
  if (sends_initial) {
    return wrong("sendInitialEvents", "Forbidden: sendInitialEvents is forbidden for list");
  }
  if (query.version_match.empty()) {
    return {};
  }
  if (query.resource_version.empty()) {
    return wrong("resourceVersionMatch", "Forbidden: resourceVersionMatch is forbidden unless "
                                         "resourceVersion is provided");
  }
  if (!query.continue_token.empty()) {
    return wrong("resourceVersionMatch",
                 "Forbidden: resourceVersionMatch is forbidden when continue is provided");
  }
  if (query.version_match != "Exact" && query.version_match != "NotOlderThan") {
    return wrong("resourceVersionMatch",
                 fmt::format("Unsupported value: \"{}\": supported values: \"Exact\", "
                             "\"NotOlderThan\", \"\"",
                             query.version_match));
  }
  if (query.version_match == "Exact" && query.resource_version == "0") {
    return wrong("resourceVersionMatch", fmt::format("Forbidden: resourceVersionMatch \"{}\" is "
                                                     "forbidden for resourceVersion \"0\"",
                                                     lower(query.version_match)));
  }
  return {};
}

} // namespace

Answer<std::uint64_t> version_number(std::string_view resource_version) {
  if (resource_version.empty()) {
    return 0;
  }
  if (const auto value = number<std::uint64_t>(resource_version)) {
    return *value;
  }
  return tl::unexpected(
      Status{.code = 500, .reason = "", .message = not_a_version(resource_version)});
}

Answer<void> check_list_version(const ListQuery& query, std::uint64_t newest) {
  const std::string& given = query.resource_version;
  if (given.empty() || given == "0") {
    return {};
  }
  if (!query.continue_token.empty()) {
    return bad_request("specifying resource version is not allowed when using continue");
  }
  const auto version = number<std::uint64_t>(given);
  if (!version) {
    return bad_request("invalid resource version: " + not_a_version(given));
  }
  if (*version > newest) {
    return tl::unexpected(too_new(*version, newest));
  }
  return {};
}

Status too_new(std::uint64_t asked, std::uint64_t newest) {
  json::array causes{json::object{{"reason", "ResourceVersionTooLarge"},
                                  {"message", "Too large resource version"}}};
  return {.code = 504,
          .reason = "Timeout",
          .message =
              fmt::format("Timeout: Too large resource version: {}, current: {}", asked, newest),
          .details = json::object{{"causes", std::move(causes)}, {"retryAfterSeconds", 1}}};
}

Answer<ListQuery> list_query(const RequestInfo& info, const schema::Resource& resource,
                             const net::HttpHeaders& query) {
  ListQuery out;
  out.what.kind = stored_kind(resource);
  out.what.ns = resource.namespaced() ? info.ns : "";
  const auto labels = api::parse_selector_text(parameter(query, "labelSelector"));
  if (!labels) {
    return bad_request(labels.error().message);
  }
  out.what.labels = *labels;
  const auto limit = integer(query, "limit");
  const auto timeout = integer(query, "timeoutSeconds");
  if (!limit || !timeout) {
    return tl::unexpected(limit ? timeout.error() : limit.error());
  }
  out.limit = std::max<std::int64_t>(limit->value_or(0), 0);
  out.timeout_seconds = *timeout;
  out.continue_token = parameter(query, "continue");
  out.resource_version = parameter(query, "resourceVersion");
  out.version_match = parameter(query, "resourceVersionMatch");
  out.bookmarks = flag(query, "allowWatchBookmarks");
  out.initial_events = flag(query, "sendInitialEvents");
  const bool given = !parameter(query, "sendInitialEvents").empty();
  const auto checked = info.verb == "watch" ? check_watch(out, given) : check_list(out, given);
  if (!checked) {
    return tl::unexpected(checked.error());
  }
  if (auto selected = select_fields(resource, parameter(query, "fieldSelector"), out.what);
      !selected) {
    return tl::unexpected(std::move(selected).error());
  }
  return out;
}

} // namespace berth::server
