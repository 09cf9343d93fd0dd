// Keys that a map gives twice. YAML and JSON forbid them; kubectl takes the last one and says
// nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace berth::api {

enum class Duplicates {
  Refuse,   ///< an error that names both places
  TakeLast, ///< as kubectl does; each such key is reported once
};

struct DuplicateKey {
  std::string field; ///< path of the key: "spec.template.metadata.annotations"
  int line = 0;      ///< of the one that counts
  int column = 0;
  int first_line = 0; ///< of the first one
  int first_column = 0;

  bool operator==(const DuplicateKey&) const = default;
};

/// One step of a way through a document: a member if it has a name, else an element.
struct PathStep {
  std::string_view name = {};
  std::size_t index = 0;
  bool is_member = false;
};

/// "spec.containers[0].image"; names with dots, slashes or brackets stand in brackets, as
/// Kubernetes writes them: "metadata.labels[app.kubernetes.io/name]".
std::string field_path(std::span<const PathStep> steps);

} // namespace berth::api
