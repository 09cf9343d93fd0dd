#include "berth/server/openapi_pages.h"

#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "berth/schema/openapi.h"

namespace berth::server {
namespace {

namespace json = boost::json;

constexpr std::string_view kV2 = "/openapi/v2";
constexpr std::string_view kV3 = "/openapi/v3";

std::string version_path(const schema::Resource& resource) {
  return resource.group.empty() ? "api/" + resource.version
                                : fmt::format("apis/{}/{}", resource.group, resource.version);
}

} // namespace

std::optional<net::HttpResponse> OpenApiPages::page(std::string_view path) {
  if (made_for_ != resources_->changes()) {
    documents_.clear();
    made_for_ = resources_->changes();
  }
  if (path == kV2) {
    return net::json_response(200, document("v2"));
  }
  if (path == kV3 || path == "/openapi/v3/") {
    return net::json_response(200, index());
  }
  if (!path.starts_with("/openapi/v3/")) {
    return std::nullopt;
  }
  const std::string& found = document(std::string(path.substr(kV3.size() + 1)));
  return found.empty() ? std::nullopt : std::optional(net::json_response(200, found));
}

/// "" if nothing of that version is served.
const std::string& OpenApiPages::document(const std::string& key) {
  const auto [at, fresh] = documents_.try_emplace(key);
  if (!fresh) {
    return at->second;
  }
  std::vector<schema::Resource> wanted;
  for (const schema::Resource* resource : resources_->all()) {
    if (key == "v2" || version_path(*resource) == key) {
      wanted.push_back(*resource);
    }
  }
  if (!wanted.empty()) {
    at->second =
        json::serialize(key == "v2" ? schema::openapi_v2(wanted) : schema::openapi_v3(wanted));
  }
  return at->second;
}

std::string OpenApiPages::index() {
  json::object paths;
  for (const schema::Resource* resource : resources_->all()) {
    const std::string version = version_path(*resource);
    paths[version] = json::object{
        {"serverRelativeURL", fmt::format("/openapi/v3/{}?hash={}", version, made_for_)}};
  }
  return json::serialize(json::object{{"paths", std::move(paths)}});
}

} // namespace berth::server
