#include "berth/server/scale.h"

#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/selector.h"
#include "berth/patch/request.h"
#include "berth/schema/catalogue.h"
#include "berth/server/body.h"
#include "berth/server/judged_write.h"
#include "berth/server/write_target.h"

namespace berth::server {
namespace {

namespace json = api::json;

const api::GroupVersionKind kScale{"autoscaling", "v1", "Scale"};

/// Where a kind keeps what a Scale shows; paths as ".spec.replicas", "" for none.
struct ScalePaths {
  std::string spec = ".spec.replicas";
  std::string status = ".status.replicas";
  std::string selector;
};

ScalePaths paths_of(const schema::Resource& resource) {
  if (!resource.custom) {
    return {};
  }
  return {.spec = resource.scale.spec_replicas,
          .status = resource.scale.status_replicas,
          .selector = resource.scale.label_selector};
}

const json::value* at(const json::value& document, std::string_view path) {
  if (path.starts_with('.')) {
    path.remove_prefix(1);
  }
  return path.empty() ? nullptr : api::find_path(document, path);
}

std::string selector_text(const api::Object& object, const ScalePaths& paths) {
  if (!paths.selector.empty()) {
    const json::value* found = at(object.json(), paths.selector);
    return found != nullptr && found->is_string() ? std::string(found->get_string().c_str()) : "";
  }
  const json::value* selector = api::find_path(object.json(), "spec.selector");
  if (selector == nullptr) {
    return "";
  }
  const auto parsed = api::parse_label_selector(*selector);
  return parsed ? api::to_string(*parsed) : "";
}

Answer<json::object> scale_of(const api::Object& object, const ScalePaths& paths) {
  const json::value* replicas = at(object.json(), paths.spec);
  if (replicas == nullptr) {
    return tl::unexpected(
        internal_error(fmt::format("the spec replicas field \"{}\" does not exist", paths.spec)));
  }
  const api::ObjectMeta& meta = object.meta();
  json::object head{{"name", meta.name}};
  if (!meta.ns.empty()) {
    head["namespace"] = meta.ns;
  }
  head["uid"] = meta.uid;
  head["resourceVersion"] = fmt::to_string(meta.resource_version);
  if (meta.creation_timestamp) {
    head["creationTimestamp"] = to_rfc3339(*meta.creation_timestamp);
  }
  const json::value* current = at(object.json(), paths.status);
  json::object status{{"replicas", current == nullptr ? json::value(0) : *current}};
  if (const std::string selector = selector_text(object, paths); !selector.empty()) {
    status["selector"] = selector;
  }
  json::object spec;
  if (replicas->is_number() && replicas->to_number<std::int64_t>() != 0) {
    spec["replicas"] = *replicas;
  }
  return json::object{{"kind", kScale.kind},
                      {"apiVersion", kScale.api_version()},
                      {"metadata", std::move(head)},
                      {"spec", std::move(spec)},
                      {"status", std::move(status)}};
}

/// The Scale that the request wants.
Answer<json::value> wanted_scale(Call& call, const json::object& live) {
  const auto type = schema::Catalogue::builtin().type(kScale);
  if (call.info.verb == "update") {
    return read_object(call, kScale, *type);
  }
  const auto kind = patch::patch_kind(net::header_of(call.request->headers, "Content-Type"),
                                      patch::KindOf::BuiltIn);
  if (!kind) {
    return tl::unexpected(status_of(kind.error()));
  }
  auto document = *kind == patch::PatchKind::Apply
                      ? patch::applied_object(call.request->body)
                      : patch::patched(*kind, live, call.request->body, *type);
  if (!document) {
    return tl::unexpected(status_of(document.error()));
  }
  return checked_object(call, kScale, *type, json::serialize(*document));
}

void set_at(json::object& document, std::string_view path, std::int64_t value) {
  path.remove_prefix(path.starts_with('.') ? 1 : 0);
  json::object* where = &document;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    where = &api::object_at(*where, path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  (*where)[path] = value;
}

} // namespace

Answer<net::HttpResponse> answer_scale(const Shared& shared, Call& call,
                                       const schema::Resource& resource) {
  const auto query =
      write_query(call, call.info.verb == "patch" ? "PatchOptions" : "UpdateOptions");
  if (!query) {
    return tl::unexpected(query.error());
  }
  const ScalePaths paths = paths_of(resource);
  const auto live =
      shared.registry->get({resource.group, resource.kind}, {call.info.ns, call.info.name});
  if (!live) {
    return tl::unexpected(status_of(live.error()));
  }
  auto shown = scale_of(*live, paths);
  if (!shown && call.info.verb != "update") {
    return tl::unexpected(std::move(shown).error());
  }
  if (call.info.verb != "get") {
    const auto wanted = wanted_scale(call, shown.value_or(json::object()));
    if (!wanted) {
      return tl::unexpected(wanted.error());
    }
    const json::value* replicas = api::find_path(*wanted, "spec.replicas");
    const std::int64_t count =
        replicas != nullptr && replicas->is_number() ? replicas->to_number<std::int64_t>() : 0;
    if (count < 0) {
      return tl::unexpected(Status{
          .code = 422,
          .reason = "Invalid",
          .message = fmt::format("Scale.autoscaling \"{}\" is invalid: spec.replicas: Invalid "
                                 "value: {}: must be greater than or equal to 0",
                                 call.info.name, count),
          .details = nullptr});
    }
    const api::Object scaled = live->edit([&](json::object& document) {
      set_at(document, paths.spec, count);
      const std::string_view version = api::string_at(*wanted, "metadata.resourceVersion");
      if (!version.empty()) {
        api::object_at(document, "metadata")["resourceVersion"] = version;
      }
    });
    const json::value before(shown.value_or(json::object()));
    if (auto judged = judge_errand(shared, call,
                                   {.operation = "UPDATE",
                                    .kind = kScale,
                                    .object = &*wanted,
                                    .before = &before,
                                    .dry_run = query->dry_run});
        !judged) {
      return tl::unexpected(std::move(judged).error());
    }
    // Nobody comes to own what is scaled of a custom resource.
    store::WriteOptions write = resource.custom
                                    ? store::WriteOptions{.dry_run = query->dry_run}
                                    : tracked_write(shared, call, resource, *query, *live);
    write.admit = {}; // judged as a Scale
    const auto written =
        shared.registry->update(scaled, store::Subresource::None, shared.loop->now(), write);
    if (!written) {
      return tl::unexpected(status_of(written.error()));
    }
    shown = scale_of(*written, paths);
    if (!shown) {
      return tl::unexpected(std::move(shown).error());
    }
  }
  return answer(200, call, encode(*shown, call.wanted.encoding));
}

} // namespace berth::server
