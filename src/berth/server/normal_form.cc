#include "berth/server/normal_form.h"

#include <string>

#include "berth/api/json.h"
#include "berth/net/base64.h"

namespace berth::server {
namespace {

namespace json = api::json;

void encode_string_data(json::object& secret) {
  if (const json::value* texts = secret.if_contains("stringData");
      texts != nullptr && texts->is_object()) {
    for (const auto& text : texts->get_object()) {
      if (text.value().is_string()) {
        api::object_at(secret, "data")[text.key()] =
            net::to_base64(std::string_view(text.value().get_string()));
      }
    }
  }
  secret.stable_erase("stringData");
  if (const json::value* type = secret.if_contains("type"); type == nullptr || type->is_null()) {
    secret["type"] = "Opaque";
  }
}

/// `one` is the first of `all`.
void keep_in_step(json::object& status, std::string_view one, std::string_view all) {
  const json::value* single = status.if_contains(one);
  json::value* list = status.if_contains(all);
  const bool none = list == nullptr || !list->is_array() || list->get_array().empty();
  if (single != nullptr && single->is_string() && !single->get_string().empty()) {
    if (none) {
      json::array made{json::object{{"ip", *single}}};
      status[all] = std::move(made);
    }
  } else if (!none) {
    const json::value* first = api::find(list->get_array().front(), "ip");
    if (first != nullptr) {
      json::value copy = *first;
      status[one] = std::move(copy);
    }
  }
}

} // namespace

void bring_into_normal_form(const api::GroupVersionKind& gvk, json::value& document) {
  if (!gvk.group.empty() || !document.is_object()) {
    return;
  }
  json::object& whole = document.get_object();
  json::value* status = whole.if_contains("status");
  if (gvk.kind == "Secret") {
    encode_string_data(whole);
  } else if (status == nullptr || !status->is_object()) {
    return;
  } else if (gvk.kind == "Pod") {
    keep_in_step(status->get_object(), "podIP", "podIPs");
    keep_in_step(status->get_object(), "hostIP", "hostIPs");
  } else if (gvk.kind == "Node") {
    json::object& node = status->get_object();
    const json::value* capacity = node.if_contains("capacity");
    if (capacity != nullptr && !node.contains("allocatable")) {
      json::value copy = *capacity;
      node["allocatable"] = std::move(copy);
    }
  }
}

} // namespace berth::server
