// What a kind's objects are before anything is said of them, and what its strategies reset.
#include <algorithm>
#include <array>

#include "berth/patch/owners.h"

namespace berth::patch {
namespace {

using schema::Form;
using schema::Type;

json::value zero_value(const Type& type) {
  switch (type.form) {
  case Form::Struct: {
    json::object out;
    for (const schema::Field& field : type.fields) {
      if (field.when_empty == schema::WhenEmpty::Null) {
        out[field.name] = nullptr;
      } else if (field.when_empty == schema::WhenEmpty::Zero) {
        out[field.name] = zero_value(*field.type);
      }
    }
    return out;
  }
  case Form::Boolean:
    return false;
  case Form::Integer:
  case Form::Number:
  case Form::IntOrString:
    return 0;
  case Form::String:
    return type.format == "date-time" ? json::value() : json::value("");
  case Form::Quantity:
    return "0";
  case Form::Any:
  case Form::Map:
  case Form::List:
    return nullptr;
  }
  return nullptr;
}

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

json::value zero_object(const Type& type, std::string_view api_version, std::string_view kind) {
  json::value out = type.form == Form::Struct ? zero_value(type) : json::value(json::object());
  out.get_object()["apiVersion"] = api_version;
  out.get_object()["kind"] = kind;
  return out;
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
