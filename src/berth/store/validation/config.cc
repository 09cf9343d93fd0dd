#include "berth/store/validation/config.h"

#include <array>

#include "berth/store/validation/formats.h"
#include "berth/store/validation/immutable.h"

namespace berth::store {
namespace {

constexpr std::size_t kMaxSize = std::size_t{1024} * 1024;
constexpr std::string_view kFrozen = "field is immutable when `immutable` is set";
constexpr std::string_view kAccountName = "kubernetes.io/service-account.name";

/// Bytes that base64 stands for.
std::size_t decoded_size(std::string_view base64) {
  const std::size_t padding = base64.ends_with("==") ? 2 : (base64.ends_with('=') ? 1 : 0);
  return base64.size() / 4 * 3 - padding;
}

void check_frozen(const Judged& before, const Judged& now,
                  std::initializer_list<std::string_view> fields) {
  if (!before.is_true("immutable")) {
    return;
  }
  if (!now.is_true("immutable")) {
    now["immutable"].forbidden(kFrozen);
  }
  for (const std::string_view field : fields) {
    if (differ(before, now, field)) {
      now[field].forbidden(kFrozen);
    }
  }
}

void check_key(const Judged& map, const std::string& key) {
  for (const std::string& why : config_key_errors(key)) {
    map.key(key).invalid(quote(key), why);
  }
}

void check_config_map(const Judged& whole) {
  std::size_t total = 0;
  const Judged data = whole["data"];
  const Judged binary = whole["binaryData"];
  for (const std::string& key : data.names()) {
    check_key(data, key);
    if (binary.has(key)) {
      data.key(key).invalid(quote(key), "duplicate of key present in binaryData");
    }
    total += data.text(key).size();
  }
  for (const std::string& key : binary.names()) {
    check_key(binary, key);
    total += decoded_size(binary.text(key));
  }
  if (total > kMaxSize) {
    whole.too_long(kMaxSize);
  }
}

void check_docker_config(const Judged& data, std::string_view key) {
  if (!data.has(key)) {
    data.key(key).required();
    return;
  }
  const auto parsed = api::parse_json(from_base64(data.text(key)));
  if (!parsed || !parsed->is_object()) {
    data.key(key).invalid(quote("<secret contents redacted>"),
                          from_base64(data.text(key)).empty() ? "unexpected end of JSON input"
                          : parsed ? "json: cannot unmarshal into Go value of type "
                                     "map[string]interface {}"
                                   : parsed.error().message);
  }
}

void check_secret(const Judged& whole) {
  const Judged data = whole["data"];
  std::size_t total = 0;
  for (const std::string& key : data.names()) {
    check_key(data, key);
    total += decoded_size(data.text(key));
  }
  if (total > kMaxSize) {
    data.too_long(kMaxSize);
  }
  const std::string_view type = whole.text("type");
  const auto need = [&](std::string_view key) {
    if (!data.has(key)) {
      data.key(key).required();
    }
  };
  if (type == "kubernetes.io/service-account-token") {
    const Judged annotations = whole["metadata"]["annotations"];
    if (annotations.text(kAccountName).empty()) {
      annotations.key(kAccountName).required();
    }
  } else if (type == "kubernetes.io/dockercfg") {
    check_docker_config(data, ".dockercfg");
  } else if (type == "kubernetes.io/dockerconfigjson") {
    check_docker_config(data, ".dockerconfigjson");
  } else if (type == "kubernetes.io/basic-auth") {
    if (!data.has("username") && !data.has("password")) {
      need("username");
      need("password");
    }
  } else if (type == "kubernetes.io/ssh-auth") {
    if (data.text("ssh-privatekey").empty()) {
      data.key("ssh-privatekey").required();
    }
  } else if (type == "kubernetes.io/tls") {
    need("tls.crt");
    need("tls.key");
  }
}

} // namespace

void check_config(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors) {
  static const GroupKind kConfigMaps{"", "ConfigMap"};
  static const GroupKind kSecrets{"", "Secret"};
  const bool secret = request.kind == kSecrets;
  if (!secret && request.kind != kConfigMaps) {
    return;
  }
  const Judged whole(&object.json(), "", errors);
  if (request.before != nullptr) {
    const Judged before(&request.before->json(), "", errors);
    if (secret) {
      check_immutable(before, whole, "type");
      check_frozen(before, whole, {"data"});
    } else {
      check_frozen(before, whole, {"data", "binaryData"});
    }
  }
  if (secret) {
    check_secret(whole);
  } else {
    check_config_map(whole);
  }
}

} // namespace berth::store
