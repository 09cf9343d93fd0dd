#include "berth/server/media.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace berth::server {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t");
  return from == std::string_view::npos
             ? std::string_view()
             : text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(mark);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

/// One clause of an Accept header.
struct Clause {
  std::string_view type;
  std::map<std::string_view, std::string_view> parameters;

  std::string_view parameter(std::string_view name) const {
    const auto at = parameters.find(name);
    return at == parameters.end() ? std::string_view() : at->second;
  }
};

std::vector<Clause> clauses(std::string_view accept) {
  std::vector<Clause> all;
  for (const std::string_view text : split(accept, ',')) {
    const auto parts = split(text, ';');
    Clause clause{.type = parts[0], .parameters = {}};
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::size_t equal = parts[i].find('=');
      if (equal != std::string_view::npos) {
        clause.parameters[trimmed(parts[i].substr(0, equal))] = trimmed(parts[i].substr(equal + 1));
      }
    }
    all.push_back(std::move(clause));
  }
  return all;
}

std::optional<Encoding> encoding_of(std::string_view type) {
  if (type.empty() || type == "*/*" || type == "application/*" || type == "application/json") {
    return Encoding::Json;
  }
  if (type == "application/vnd.kubernetes.protobuf") {
    return Encoding::Protobuf;
  }
  if (type == "application/yaml" || type == "application/x-yaml" || type == "text/yaml") {
    return Encoding::Yaml;
  }
  return std::nullopt;
}

std::optional<Wanted> wanted_by(const Clause& clause) {
  const auto encoding = encoding_of(clause.type);
  if (!encoding || *encoding == Encoding::Protobuf) { // clients name JSON after it
    return std::nullopt;
  }
  Wanted wanted{.encoding = *encoding};
  const std::string_view as = clause.parameter("as");
  if (as.empty()) {
    return wanted;
  }
  const std::string_view version = clause.parameter("v");
  if (clause.parameter("g") != "meta.k8s.io" || (version != "v1" && version != "v1beta1")) {
    return std::nullopt;
  }
  wanted.meta_version = version;
  if (as == "Table") {
    wanted.form = Wanted::Form::Table;
  } else if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList") {
    wanted.form = Wanted::Form::PartialMetadata;
  } else {
    return std::nullopt;
  }
  return wanted;
}

} // namespace

Answer<Wanted> wanted_form(std::string_view accept) {
  for (const Clause& clause : clauses(accept)) {
    if (auto wanted = wanted_by(clause)) {
      return *std::move(wanted);
    }
  }
  return tl::unexpected(
      not_acceptable("application/json, application/yaml, application/vnd.kubernetes.protobuf"));
}

bool wants_aggregated_discovery(std::string_view accept) {
  for (const Clause& clause : clauses(accept)) {
    if (clause.parameter("g") == "apidiscovery.k8s.io" && clause.parameter("v") == "v2" &&
        clause.parameter("as") == "APIGroupDiscoveryList" &&
        encoding_of(clause.type) == Encoding::Json) {
      return true;
    }
    if (clause.parameters.empty() && encoding_of(clause.type) == Encoding::Json) {
      return false; // the plain documents come first
    }
  }
  return false;
}

Answer<Encoding> body_encoding(std::string_view content_type) {
  if (const auto encoding = encoding_of(split(content_type, ';').front())) {
    return *encoding;
  }
  return tl::unexpected(
      unsupported_media_type("the body of the request was in an unknown format - accepted media "
                             "types include: application/json, application/yaml, "
                             "application/vnd.kubernetes.protobuf"));
}

std::string_view content_type(Encoding encoding) {
  return encoding == Encoding::Json ? "application/json" : "application/yaml";
}

} // namespace berth::server
