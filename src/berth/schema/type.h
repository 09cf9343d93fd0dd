// What a kind's objects look like: one tree of types for built-in kinds and for custom resources,
// from which decoding, validation, patching, apply and OpenAPI follow. Sources: Kubernetes' OpenAPI
// documents (x-kubernetes-* extensions), KEP-555 (apply), structural schemas of apiextensions/v1.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

namespace berth::schema {

struct Rules; // value validation of custom resources: rules.h

enum class Form {
  Any,         ///< whatever JSON
  Boolean,     ///<
  Integer,     ///< `format` int32 or int64
  Number,      ///< `format` double or float
  String,      ///< `format` "", byte, date-time, ...
  IntOrString, ///< a port, a percentage
  Quantity,    ///< text or number that api/quantity.h reads
  Struct,      ///< `fields`; others are unknown
  Map,         ///< any text -> `element`
  List,        ///< of `element`
};

/// How two writers share a list (x-kubernetes-list-type).
enum class ListKind {
  Atomic, ///< one owner for the whole
  Set,    ///< each scalar has its owners
  Map,    ///< each element has its owners, by `list_keys`
};

/// As JSON Schema calls a value of that form: "object", "array", ...; "" if it has several names.
std::string_view json_name(Form form);

struct Type;

/// What a typed server writes for a field whose value is empty ("", 0, false, [], {} of a map) or
/// absent: Go's omitempty and pointers. Custom resources keep what they are given.
enum class WhenEmpty {
  Kept,    ///< an empty value as given; an absent one stays absent
  Dropped, ///< neither
  Zero,    ///< both, as "", 0, false or a struct of zeros
  Null,    ///< an empty value as given, an absent one as null
};

struct Field {
  std::string name;
  const Type* type = nullptr; ///< never null
  bool required = false;
  std::string description; ///< of this use; else the type's own
  WhenEmpty when_empty = WhenEmpty::Kept;
};

/// Immutable once built. Types may be recursive, so they are held by an arena (arena.h) and refer
/// to each other by pointer.
struct Type {
  Form form = Form::Any;
  std::string name; ///< "io.k8s.api.core.v1.PodSpec"; "" for nameless ones
  std::string format;
  std::string description;
  std::string go_type;       ///< of texts and maps that have a Go name: "v1.PullPolicy"
  std::vector<Field> fields; ///< Struct: ordered by name
  const Type* element = nullptr;

  ListKind list = ListKind::Atomic;
  std::vector<std::string> list_keys; ///< ListKind::Map
  bool atomic = false; ///< Struct, Map: apply owns it whole (x-kubernetes-map-type: atomic)

  bool merges = false;      ///< List: strategic merge patch merges it (patchStrategy merge)
  std::string merge_key;    ///< patchMergeKey; "" for lists of scalars
  bool retain_keys = false; ///< patchStrategy retainKeys

  bool structural =
      false; ///< of a custom resource: decoding takes any form, validate() looks at it
  bool nullable = false;
  bool preserve_unknown = false; ///< x-kubernetes-preserve-unknown-fields
  bool embedded = false;         ///< x-kubernetes-embedded-resource: a whole object with metadata
  std::optional<boost::json::value> default_value;
  std::shared_ptr<const Rules> rules; ///< null: nothing beyond the form

  /// null if there is no such field. O(log fields).
  const Field* field(std::string_view field_name) const;
};

/// A root type together with the arena that keeps it and all it refers to alive.
using TypePtr = std::shared_ptr<const Type>;

} // namespace berth::schema
