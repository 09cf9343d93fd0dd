#include "berth/server/written_object.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/event_views.h"
#include "berth/store/validation/warnings.h"

namespace berth::server {
namespace {

constexpr std::size_t kDigitsThatFit = 20; ///< 64 bits hold every number with fewer

} // namespace

const schema::Resource& kept_as(const Shared& shared, const schema::Resource& resource) {
  return is_event_view(resource) ? *shared.resources->find("", "v1", "events") : resource;
}

api::Key key_of(const Call& call, const schema::Resource& resource) {
  return {resource.namespaced() ? call.info.ns : "", call.info.name};
}

store::Subresource subresource_of(const Call& call) {
  using enum store::Subresource;
  static constexpr std::array<std::pair<std::string_view, store::Subresource>, 4> kNames = {
      {{"status", Status},
       {"approval", Approval},
       {"ephemeralcontainers", EphemeralContainers},
       {"resize", Resize}}};
  const auto found = std::ranges::find(kNames, call.info.subresource,
                                       &std::pair<std::string_view, store::Subresource>::first);
  return found == kNames.end() ? None : found->second;
}

Answer<net::HttpResponse> told(const Shared& shared, const Call& call,
                               const schema::Resource& resource, int status,
                               const Result<api::Object>& written) {
  if (!written) {
    return tl::unexpected(status_of(written.error()));
  }
  const auto options = render_options(shared, call);
  if (!options) {
    return tl::unexpected(options.error());
  }
  return answer(status, call, render_object(*written, resource, *options));
}

void warn_of(Call& call, const Result<api::Object>& written, const api::Object* before) {
  if (written && call.info.subresource.empty()) {
    std::ranges::move(store::warnings_of(*written, before),
                      std::back_inserter(call.notes.warnings));
  }
}

Answer<void> check_namespace(const Call& call, const schema::Resource& resource,
                             const api::json::value& document) {
  const std::string_view given = api::string_at(document, "metadata.namespace");
  if (resource.namespaced() && !given.empty() && given != call.info.ns) {
    return bad_request("the namespace of the provided object does not match the namespace sent on "
                       "the request");
  }
  return {};
}

Answer<void> place(const Call& call, const schema::Resource& resource, api::json::value& document) {
  if (auto fits = check_namespace(call, resource, document); !fits) {
    return fits;
  }
  api::json::object& meta = api::object_at(document.as_object(), "metadata");
  if (resource.namespaced()) {
    meta["namespace"] = call.info.ns;
  } else {
    meta.stable_erase("namespace");
  }
  return {};
}

Answer<void> check_name(const Call& call, const api::json::value& document) {
  const std::string_view name = api::string_at(document, "metadata.name");
  if (name.empty()) {
    return bad_request(fmt::format("the name of the object ({} based on URL) was undeterminable: "
                                   "name must be provided",
                                   call.info.name));
  }
  if (name != call.info.name) {
    return bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                    call.info.name));
  }
  return {};
}

Answer<void> check_version(const api::Object& wanted) {
  const std::string_view text = api::string_at(wanted.json(), "metadata.resourceVersion");
  if (text.empty() || fmt::to_string(wanted.meta().resource_version) == text) {
    return {};
  }
  const bool digits = text.find_first_not_of("0123456789") == std::string_view::npos;
  if (digits && text.size() < kDigitsThatFit) { // zeroes in front
    return {};
  }
  return tl::unexpected(
      Status{.code = 500,
             .reason = "",
             .message = fmt::format("strconv.ParseUint: parsing \"{}\": {}", text,
                                    digits ? "value out of range" : "invalid syntax"),
             .details = nullptr});
}

Answer<api::Object> object_of(const schema::Resource& resource, api::json::value document) {
  if (is_event_view(resource)) {
    to_core_event(document);
  }
  auto object = api::Object::from_json(std::move(document));
  if (!object) {
    return tl::unexpected(status_of(object.error()));
  }
  return *std::move(object);
}

} // namespace berth::server
