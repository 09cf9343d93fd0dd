// What a kind's objects are before anything is said of them, and what its strategies reset.
#include <algorithm>
#include <array>

#include "berth/patch/owners.h"
#include "berth/schema/decode.h"

namespace berth::patch {
namespace {

struct StatusResets {
  std::string_view group;
  std::string_view kind;
  std::array<std::string_view, 3> fields; ///< beside spec: dotted
};

// From the GetResetFields of the strategies in kubernetes/pkg/registry.
constexpr StatusResets kStatusResets[] = {
    {"", "Pod", {"metadata.deletionTimestamp", "metadata.ownerReferences"}},
    {"apps", "Deployment", {"metadata.labels"}},
    {"apiextensions.k8s.io", "CustomResourceDefinition", {"metadata"}},
    {"apiregistration.k8s.io", "APIService", {"metadata"}},
    {"storage.k8s.io", "VolumeAttachment", {"metadata"}},
    {"resource.k8s.io", "ResourceClaim", {"metadata"}},
};

void insert_dotted(FieldSet& set, std::string_view dotted) {
  Path path;
  while (!dotted.empty()) {
    const std::size_t dot = dotted.find('.');
    path.push_back(PathElement::field(dotted.substr(0, dot)));
    dotted.remove_prefix(dot == std::string_view::npos ? dotted.size() : dot + 1);
  }
  set.insert(path);
}

} // namespace

json::value zero_object(const schema::Type& type, std::string_view api_version,
                        std::string_view kind) {
  const json::value said = {{"apiVersion", api_version}, {"kind", kind}};
  if (type.form != schema::Form::Struct) {
    return said;
  }
  auto decoded = schema::decode_value(said, type);
  return decoded ? std::move(decoded->value) : said;
}

FieldSet reset_fields(std::string_view group, std::string_view kind, std::string_view subresource,
                      bool has_status) {
  FieldSet out;
  if (subresource.empty()) {
    if (has_status) {
      out.insert({"status"});
    }
    return out;
  }
  if (subresource != "status") {
    return out;
  }
  out.insert({"spec"});
  for (const StatusResets& resets : kStatusResets) {
    if (resets.group == group && resets.kind == kind) {
      std::ranges::for_each(resets.fields,
                            [&](std::string_view field) { insert_dotted(out, field); });
    }
  }
  return out;
}

} // namespace berth::patch
