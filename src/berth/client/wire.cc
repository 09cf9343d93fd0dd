#include "berth/client/wire.h"

#include <array>
#include <charconv>
#include <utility>

#include <boost/json/serialize.hpp>
#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::client {
namespace {

namespace json = api::json;

constexpr std::array kCodes = {
    Code::BadRequest,      Code::Unauthorized, Code::Forbidden, Code::NotFound, Code::AlreadyExists,
    Code::Conflict,        Code::Gone,         Code::Invalid,   Code::Expired,  Code::Timeout,
    Code::TooManyRequests, Code::Unavailable,  Code::Internal};

std::string escaped(std::string_view text) {
  return boost::urls::encode(text, boost::urls::unreserved_chars);
}

api::GroupVersionKind served(const GroupKind& kind) {
  const api::KindInfo* info = api::find_kind(kind.group, kind.kind);
  return {kind.group, info == nullptr ? "v1" : std::string(info->version), kind.kind};
}

Code code_of(std::string_view reason, int status) {
  for (const Code code : kCodes) {
    if (to_string(code) == reason) {
      return code;
    }
  }
  for (const Code code : kCodes) {
    if (http_status(code) == status) {
      return code;
    }
  }
  return status >= 500 ? Code::Internal : Code::BadRequest;
}

Error error_of_status(const json::value& document, int status) {
  Error error{.code = code_of(api::string_at(document, "reason"), status),
              .message = std::string(api::string_at(document, "message"))};
  const json::value* causes = api::find_path(document, "details.causes");
  if (causes != nullptr && causes->is_array()) {
    for (const json::value& cause : causes->get_array()) {
      error.causes.push_back(
          {.code = error.code,
           .message = std::string(api::string_at(cause, "message")),
           .where = Where{.file = {}, .field = std::string(api::string_at(cause, "field"))}});
    }
  }
  return error;
}

std::uint64_t number_at(const json::value& document, std::string_view path) {
  const std::string_view text = api::string_at(document, path);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

} // namespace

std::string collection_path(const GroupKind& kind, const std::string& ns) {
  const api::GroupVersionKind gvk = served(kind);
  std::string path = kind.group.empty() ? fmt::format("/api/{}", gvk.version)
                                        : fmt::format("/apis/{}/{}", gvk.group, gvk.version);
  if (!ns.empty()) {
    path += "/namespaces/" + escaped(ns);
  }
  return path + "/" + api::plural_of(gvk);
}

std::string object_path(const GroupKind& kind, const api::Key& key, Subresource subresource) {
  return collection_path(kind, key.ns) + "/" + escaped(key.name) +
         (subresource == Subresource::Status ? "/status" : "");
}

std::string selection_query(const ListOptions& what) {
  std::string fields;
  const auto add = [&](std::string_view path, std::string_view mark, std::string_view value) {
    fields += fmt::format("{}{}{}{}", fields.empty() ? "" : ",", path, mark, value);
  };
  if (what.name) {
    add("metadata.name", "=", *what.name);
  }
  if (what.node) {
    add("spec.nodeName", "=", *what.node);
  }
  for (const store::FieldRequirement& field : what.fields) {
    add(field.path, field.equal ? "=" : "!=", field.value);
  }
  std::string query;
  if (!what.labels.empty()) {
    query += "labelSelector=" + escaped(to_string(what.labels));
  }
  if (!fields.empty()) {
    query += (query.empty() ? "" : "&") + ("fieldSelector=" + escaped(fields));
  }
  return query;
}

std::string delete_body(const DeleteOptions& options) {
  json::object body{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  if (options.grace_period_seconds) {
    body["gracePeriodSeconds"] = *options.grace_period_seconds;
  }
  json::object preconditions;
  if (options.uid) {
    preconditions["uid"] = *options.uid;
  }
  if (options.resource_version) {
    preconditions["resourceVersion"] = fmt::to_string(*options.resource_version);
  }
  if (!preconditions.empty()) {
    body["preconditions"] = std::move(preconditions);
  }
  body["propagationPolicy"] = options.propagation == Propagation::Foreground ? "Foreground"
                              : options.propagation == Propagation::Orphan   ? "Orphan"
                                                                             : "Background";
  return json::serialize(body);
}

std::string token_body(const TokenRequest& request) {
  json::object spec{{"expirationSeconds", request.expiration_seconds},
                    {"boundObjectRef", json::object{{"kind", "Pod"},
                                                    {"apiVersion", "v1"},
                                                    {"name", request.pod_name},
                                                    {"uid", request.pod_uid}}}};
  // No audiences at all means the server's own.
  spec["audiences"] =
      request.audience.empty() ? json::array() : json::array{json::string(request.audience)};
  return json::serialize(json::object{{"kind", "TokenRequest"},
                                      {"apiVersion", "authentication.k8s.io/v1"},
                                      {"spec", std::move(spec)}});
}

std::string binding_body(const Binding& binding) {
  json::object meta{{"name", binding.pod.name}, {"namespace", binding.pod.ns}};
  if (!binding.uid.empty()) {
    meta["uid"] = binding.uid;
  }
  if (!binding.annotations.empty()) {
    json::object annotations;
    for (const auto& [key, value] : binding.annotations) {
      annotations[key] = value;
    }
    meta["annotations"] = std::move(annotations);
  }
  return json::serialize(
      json::object{{"kind", "Binding"},
                   {"apiVersion", "v1"},
                   {"metadata", std::move(meta)},
                   {"target", json::object{{"kind", "Node"}, {"name", binding.node}}}});
}

Error error_of(const net::HttpResponse& response) {
  const auto document = api::parse_json(response.body);
  if (document && api::string_at(*document, "kind") == "Status") {
    return error_of_status(*document, response.status);
  }
  return {.code = code_of("", response.status),
          .message = fmt::format("the server answered {}: {}", response.status,
                                 response.body.substr(0, response.body.find('\n')))};
}

Result<api::Object> object_of(const net::HttpResponse& response) {
  auto object = api::Object::parse(response.body);
  if (!object) {
    return fail(Code::Internal,
                fmt::format("the server's answer is no object: {}", to_string(object.error())));
  }
  return object;
}

Result<Token> token_of(const json::value& answered) {
  const std::string_view token = api::string_at(answered, "status.token");
  if (token.empty()) {
    return fail(Code::Internal, "the server's answer to a TokenRequest has no token in it");
  }
  BERTH_TRY(const TimePoint expires,
            parse_rfc3339(api::string_at(answered, "status.expirationTimestamp")));
  constexpr std::int64_t kUnsaid = 3600;
  const json::value* seconds = api::find_path(answered, "spec.expirationSeconds");
  return Token{std::string(token), expires,
               Duration::seconds(seconds && seconds->is_int64() ? seconds->get_int64() : kUnsaid)};
}

Result<api::Object> named_object_of(const net::HttpResponse& response, const GroupKind& kind,
                                    const api::Key& key, std::string_view uid) {
  const auto document = api::parse_json(response.body);
  if (!document || api::string_at(*document, "kind") != "Status") {
    return object_of(response);
  }
  json::object meta{{"name", key.name}};
  if (!key.ns.empty()) {
    meta["namespace"] = key.ns;
  }
  const std::string_view told = api::string_at(*document, "details.uid");
  if (!told.empty() || !uid.empty()) {
    meta["uid"] = told.empty() ? uid : told;
  }
  return api::Object::from_json(json::object{{"kind", kind.kind},
                                             {"apiVersion", served(kind).api_version()},
                                             {"metadata", std::move(meta)}});
}

Result<ListPage> list_page_of(const net::HttpResponse& response, const GroupKind& kind) {
  auto document = api::parse_json(response.body);
  const json::value* items = document ? api::find(*document, "items") : nullptr;
  if (!document || !document->is_object() || items == nullptr) {
    return fail(Code::Internal, "the server's answer is no list");
  }
  ListPage page;
  page.list.resource_version = number_at(*document, "metadata.resourceVersion");
  page.continue_token = api::string_at(*document, "metadata.continue");
  const std::string version(api::string_at(*document, "apiVersion"));
  if (!items->is_array()) {
    return page; // "items": null
  }
  for (json::value& item : document->as_object()["items"].as_array()) {
    if (!item.is_object()) {
      return fail(Code::Internal, "the server's list holds something that is no object");
    }
    json::object whole{{"kind", kind.kind}, {"apiVersion", version}};
    for (auto& member : item.as_object()) {
      whole[member.key()] = std::move(member.value());
    }
    BERTH_TRY(api::Object object, api::Object::from_json(json::value(std::move(whole), {})));
    page.list.items.push_back(std::move(object));
  }
  return page;
}

Result<WatchEvent> event_of(std::string_view line) {
  const auto document = api::parse_json(line);
  const json::value* object = document ? api::find(*document, "object") : nullptr;
  if (!document || object == nullptr) {
    return fail(Code::Internal, "the server sent something that is no event");
  }
  const std::string_view type = api::string_at(*document, "type");
  if (type == "ERROR") {
    const json::value* code = api::find(*object, "code");
    return tl::unexpected(error_of_status(
        *object, code != nullptr && code->is_number() ? code->to_number<int>() : 500));
  }
  WatchEvent event{.resource_version = number_at(*object, "metadata.resourceVersion")};
  if (type == "BOOKMARK") {
    event.type = WatchEvent::Type::Bookmark;
    return event;
  }
  event.type = type == "ADDED"     ? WatchEvent::Type::Added
               : type == "DELETED" ? WatchEvent::Type::Deleted
                                   : WatchEvent::Type::Modified;
  BERTH_TRY(event.object, api::Object::from_json(*object));
  return event;
}

} // namespace berth::client
