#include "berth/store/naming.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace berth::store {
namespace {

constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxSubdomain = 253;
constexpr std::size_t kMaxAnnotations = 256 * 1024;

constexpr std::string_view kSubdomainText =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelText =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kQualifiedText =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueText =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

bool lower_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool alnum(char c) {
  return lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

bool is_label(std::string_view text) {
  return !text.empty() && lower_alnum(text.front()) && lower_alnum(text.back()) &&
         std::ranges::all_of(text, [](char c) { return lower_alnum(c) || c == '-'; });
}

bool is_subdomain(std::string_view text) {
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t dot = std::min(text.find('.', start), text.size());
    if (!is_label(text.substr(start, dot - start))) {
      return false;
    }
    start = dot + 1;
  }
  return true;
}

bool is_qualified_part(std::string_view text) {
  return !text.empty() && alnum(text.front()) && alnum(text.back()) &&
         std::ranges::all_of(text,
                             [](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string too_long(std::size_t limit) {
  return fmt::format("must be no more than {} bytes", limit);
}

/// Names that become one segment of a URL and are otherwise free, as RBAC's are.
std::vector<std::string> path_segment_errors(std::string_view name) {
  if (name == "." || name == "..") {
    return {fmt::format("may not be '{}'", name)};
  }
  std::vector<std::string> errors;
  for (const char c : {'/', '%'}) {
    if (name.find(c) != std::string_view::npos) {
      errors.push_back(fmt::format("may not contain '{}'", c));
    }
  }
  return errors;
}

std::vector<std::string> name_errors(const GroupKind& kind, std::string_view name) {
  if (kind.group == "rbac.authorization.k8s.io") {
    return path_segment_errors(name);
  }
  return kind == kNamespaces ? label_name_errors(name) : subdomain_errors(name);
}

void check_labels(const api::Labels& labels, const std::string& field, FieldErrors& errors) {
  for (const auto& [key, value] : labels) {
    add_invalid(errors, field, key, qualified_name_errors(key));
    add_invalid(errors, field, value, label_value_errors(value));
  }
}

void check_annotations(const api::Labels& annotations, FieldErrors& errors) {
  std::size_t total = 0;
  for (const auto& [key, value] : annotations) {
    std::string lower = key;
    std::ranges::transform(lower, lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    add_invalid(errors, "metadata.annotations", key, qualified_name_errors(lower));
    total += key.size() + value.size();
  }
  if (total > kMaxAnnotations) {
    errors.push_back(
        Error{.code = Code::Invalid,
              .message = fmt::format("Too long: may not be more than {} bytes", kMaxAnnotations),
              .where = Where{.file = {}, .line = 0, .column = 0, .field = "metadata.annotations"},
              .causes = {}});
  }
}

} // namespace

std::vector<std::string> subdomain_errors(std::string_view name) {
  std::vector<std::string> errors;
  if (name.size() > kMaxSubdomain) {
    errors.push_back(too_long(kMaxSubdomain));
  }
  if (!is_subdomain(name)) {
    errors.emplace_back(kSubdomainText);
  }
  return errors;
}

std::vector<std::string> label_name_errors(std::string_view name) {
  std::vector<std::string> errors;
  if (name.size() > kMaxLabel) {
    errors.push_back(too_long(kMaxLabel));
  }
  if (!is_label(name)) {
    errors.emplace_back(kLabelText);
  }
  return errors;
}

std::vector<std::string> qualified_name_errors(std::string_view name) {
  std::vector<std::string> errors;
  const std::size_t slash = name.find('/');
  std::string_view part = name;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = name.substr(0, slash);
    part = name.substr(slash + 1);
    if (part.find('/') != std::string_view::npos) {
      return {fmt::format(
          "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must "
          "start "
          "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
          "regex "
          "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS "
          "subdomain prefix and '/' (e.g. 'example.com/MyName')")};
    }
    if (prefix.empty()) {
      errors.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& text : subdomain_errors(prefix)) {
        errors.push_back("prefix part " + text);
      }
    }
  }
  if (part.empty()) {
    errors.emplace_back("name part must be non-empty");
  } else if (part.size() > kMaxLabel) {
    errors.push_back("name part " + too_long(kMaxLabel));
  }
  if (!is_qualified_part(part)) {
    errors.emplace_back(kQualifiedText);
  }
  return errors;
}

std::vector<std::string> label_value_errors(std::string_view value) {
  std::vector<std::string> errors;
  if (value.size() > kMaxLabel) {
    errors.push_back(too_long(kMaxLabel));
  }
  if (!value.empty() && !is_qualified_part(value)) {
    errors.emplace_back(kLabelValueText);
  }
  return errors;
}

void add_invalid(FieldErrors& errors, const std::string& field, std::string_view value,
                 const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    errors.push_back(invalid_value(field, quote(value), text));
  }
}

Result<void> check_metadata(const AdmissionRequest& request, const api::Object& object) {
  if (request.subresource == Subresource::Status) {
    return {};
  }
  const api::ObjectMeta& meta = object.meta();
  FieldErrors errors;
  if (request.operation == AdmissionRequest::Operation::Create) {
    add_invalid(errors, "metadata.name", meta.name, name_errors(request.kind, meta.name));
    if (!meta.ns.empty()) {
      add_invalid(errors, "metadata.namespace", meta.ns, label_name_errors(meta.ns));
    }
  }
  check_labels(meta.labels, "metadata.labels", errors);
  check_annotations(meta.annotations, errors);
  if (request.before != nullptr && meta.deletion_timestamp) {
    const auto& had = request.before->meta().finalizers;
    std::string added;
    for (const std::string& finalizer : meta.finalizers) {
      if (std::ranges::find(had, finalizer) == had.end()) {
        added += (added.empty() ? "" : ", ") + quote(finalizer);
      }
    }
    if (!added.empty()) {
      errors.push_back(forbidden_field(
          "metadata.finalizers",
          fmt::format("no new finalizers can be added if the object is being deleted, "
                      "found new finalizers []string{{{}}}",
                      added)));
    }
  }
  if (!errors.empty()) {
    return invalid(request.kind, meta.name, std::move(errors));
  }
  return {};
}

} // namespace berth::store
