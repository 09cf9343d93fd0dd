// A Kubernetes object, any kind: lossless, immutable, shared. Its metadata is parsed once; unknown
// fields survive.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/api/kinds.h"
#include "berth/base/result.h"
#include "berth/base/time.h"

namespace berth::api {

namespace json = boost::json;

using Labels = std::map<std::string, std::string, std::less<>>;

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool block_owner_deletion = false;

  bool operator==(const OwnerReference&) const = default;
};

/// metav1.ObjectMeta, the part Berth reads. resource_version 0: not stored yet.
struct ObjectMeta {
  std::string name;
  std::string generate_name;
  std::string ns; ///< "" for cluster-scoped kinds
  std::string uid;
  std::uint64_t resource_version = 0;
  std::int64_t generation = 0;
  Labels labels;
  Labels annotations;
  std::vector<OwnerReference> owner_references;
  std::vector<std::string> finalizers;
  std::optional<TimePoint> creation_timestamp;
  std::optional<TimePoint> deletion_timestamp;
  std::optional<std::int64_t> deletion_grace_period_seconds;

  /// The owner with controller: true, if any.
  const OwnerReference* controller() const;
};

/// Names one object of a kind.
struct Key {
  std::string ns; ///< "" for cluster-scoped kinds
  std::string name;

  std::string to_string() const { return ns.empty() ? name : ns + "/" + name; }
  auto operator<=>(const Key&) const = default;
};

/// Names one object of any kind, whatever its version.
struct Ref {
  std::string group;
  std::string kind;
  Key key;

  auto operator<=>(const Ref&) const = default;
};

/// A handle to one version of one object; copying is a reference count. Never empty except by
/// default construction. Bytes and typed views are made when first asked for. Threads may share an
/// object, each by a handle of its own.
class Object {
 public:
  Object() = default;
  /// Takes a document with apiVersion, kind and metadata. Errors name the field.
  static Result<Object> from_json(json::value document);
  /// Parses JSON bytes.
  static Result<Object> parse(std::string bytes);

  explicit operator bool() const { return rep_ != nullptr; }

  const GroupVersionKind& gvk() const;
  const ObjectMeta& meta() const;
  Key key() const { return {meta().ns, meta().name}; }
  Ref ref() const { return {gvk().group, gvk().kind, key()}; }
  /// The whole document.
  const json::value& json() const;
  /// Canonical JSON bytes of the document.
  const std::string& bytes() const;

  /// A changed copy. The change must leave apiVersion, kind and metadata well-formed (asserted).
  Object edit(const std::function<void(json::object&)>& change) const;

  /// The typed view of this version, made by `decode` and shared, the same for everybody (model/
  /// uses it). Threads that ask at once may each decode. T identifies the slot.
  template <class T>
  Result<std::shared_ptr<const T>>
  view(Result<std::shared_ptr<const T>> (*decode)(const json::value&)) const {
    static const char kSlot = 0;
    if (auto cached = cached_view(&kSlot)) {
      return std::static_pointer_cast<const T>(std::move(cached));
    }
    auto made = decode(json());
    if (made) {
      return std::static_pointer_cast<const T>(cache_view(&kSlot, *std::move(made)));
    }
    return made;
  }

 private:
  struct Rep;
  explicit Object(std::shared_ptr<Rep> rep) : rep_(std::move(rep)) {}
  std::shared_ptr<const void> cached_view(const void* slot) const;
  /// The view that is kept: this one, or one that was there already.
  std::shared_ptr<const void> cache_view(const void* slot, std::shared_ptr<const void> view) const;
  std::shared_ptr<Rep> rep_;
};

class Field;
/// Reader of "metadata" for typed decoding (see field.h).
void decode(const Field& in, ObjectMeta& out);

/// Parses "metadata" alone.
Result<ObjectMeta> parse_meta(const json::value& document);

/// Adds `owner` to document metadata as the controller owner.
void set_controller(json::object& document, const Object& owner);
/// The ownerReference that names `owner` as controller.
OwnerReference controller_ref(const Object& owner);

} // namespace berth::api
