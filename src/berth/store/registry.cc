#include "berth/store/registry.h"

#include <array>
#include <utility>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/same.h"
#include "berth/store/binding.h"
#include "berth/store/deletion.h"
#include "berth/store/document.h"
#include "berth/store/errors.h"
#include "berth/store/kind_rules.h"
#include "berth/store/partial_write.h"
#include "berth/store/quota_objects.h"
#include "berth/store/validation/signing_request.h"

namespace berth::store {
namespace {

constexpr std::size_t kMaxGeneratedBase = 58; // leaves five characters of a label for the suffix
constexpr int kNameAttempts = 8;
constexpr int kCreateAttempts = 8; ///< of what others count in at the same time
const GroupKind kServices{"", "Service"};

/// metadata members that belong to the server: an update carries the stored ones on.
constexpr std::array<std::string_view, 8> kServerFields = {"name",
                                                           "namespace",
                                                           "uid",
                                                           "resourceVersion",
                                                           "generation",
                                                           "creationTimestamp",
                                                           "deletionTimestamp",
                                                           "deletionGracePeriodSeconds"};

/// "finalizers": null says what leaving it out says.
void drop_nulls(api::json::object& meta) {
  for (auto member = meta.begin(); member != meta.end();) {
    member = member->value().is_null() ? meta.stable_erase(member) : member + 1;
  }
}

void keep_server_fields(const api::Object& current, api::json::object& document) {
  const api::json::value& stored = *api::find(current.json(), "metadata");
  api::json::object& meta = api::object_at(document, "metadata");
  for (const std::string_view field : kServerFields) {
    if (const api::json::value* value = stored.as_object().if_contains(field)) {
      meta[field] = *value;
    } else {
      meta.stable_erase(field);
    }
  }
  drop_nulls(meta);
}

Result<void> check_identity(const api::Object& current, const api::Object& next) {
  const api::ObjectMeta& meta = next.meta();
  const GroupKind kind = group_kind(current);
  if (!meta.uid.empty() && meta.uid != current.meta().uid) {
    return conflict(
        resource_text(kind), meta.name,
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                    meta.uid, current.meta().uid));
  }
  if (meta.resource_version != 0 && meta.resource_version != current.meta().resource_version) {
    return outdated(kind, meta.name);
  }
  return {};
}

/// Deletion is asked for in its own way. Source: ValidateObjectMetaUpdate.
Result<void> check_deletion_unasked(const api::Object& current, const api::Object& next) {
  std::vector<Error> wrong;
  for (const std::string_view field : {"deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const std::string path = fmt::format("metadata.{}", field);
    const api::json::value* wanted = api::find_path(next.json(), path);
    if (wanted != nullptr && !wanted->is_null() && !api::find_path(current.json(), path)) {
      wrong.push_back(invalid_value(path, boost::json::serialize(*wanted), "field is immutable"));
    }
  }
  return wrong.empty() ? Result<void>()
                       : invalid(group_kind(current), current.meta().name, std::move(wrong));
}

/// A patch may name the object, its uid and its version, but not change them.
Result<void> check_patch_identity(const api::Object& current, const api::json::value& patch) {
  const api::ObjectMeta& meta = current.meta();
  const GroupKind kind = group_kind(current);
  if (!patch.is_object()) {
    return fail(Code::BadRequest, "error decoding patch: a merge patch must be a JSON object");
  }
  const std::string_view name = api::string_at(patch, "metadata.name");
  if (!name.empty() && name != meta.name) {
    return fail(Code::BadRequest,
                fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                            name, meta.name));
  }
  const std::string_view version = api::string_at(patch, "metadata.resourceVersion");
  if (!version.empty() && version != fmt::to_string(meta.resource_version)) {
    return outdated(kind, meta.name);
  }
  const std::string_view uid = api::string_at(patch, "metadata.uid");
  if (!uid.empty() && uid != meta.uid) {
    return invalid(kind, meta.name,
                   {invalid_value("metadata.uid", quote(uid), "field is immutable")});
  }
  return {};
}

void apply_patch(api::json::object& document, const api::json::value& patch,
                 Subresource subresource) {
  for (const auto& member : patch.as_object()) {
    if ((member.key() == "status") != (subresource == Subresource::Status)) {
      continue;
    }
    if (member.value().is_null()) {
      document.stable_erase(member.key());
    } else {
      api::merge_patch(document[member.key()], member.value());
    }
  }
}

tl::unexpected<Error> terminating(const GroupKind& kind, const std::string& ns) {
  auto refused = forbidden(kind, "",
                           fmt::format("unable to create new content in namespace {} "
                                       "because it is being terminated",
                                       ns));
  refused.value().causes.push_back(
      {.code = Code::Forbidden,
       .message = fmt::format("namespace {} is being terminated", ns),
       .where = Where{.file = {}, .line = 0, .column = 0, .field = "metadata.namespace"},
       .causes = {}});
  return refused;
}

/// A refusal for the namespace's sake says which object it is about.
Result<void> named(Result<void> refused, const api::Object& object) {
  if (refused || refused.error().code != Code::Forbidden) {
    return refused;
  }
  const api::ObjectMeta& meta = object.meta();
  const std::string& name = meta.name.empty() ? meta.generate_name : meta.name;
  Error error = std::move(refused).error();
  const std::size_t empty = error.message.find("\"\"");
  error.message.replace(empty, 2, quote(name.empty() ? "Unknown" : name));
  return tl::unexpected(std::move(error));
}

/// Names under which writes are judged by what else there is, of which processes that share the
/// store must know of each other: quotas count, Services have addresses of their own.
std::vector<std::string> counted_under(const Store& store, const AdmissionRequest& request,
                                       const api::json::value& document) {
  std::vector<std::string> names;
  if (!store.shared()) {
    return names;
  }
  if (request.kind == kServices) {
    names.emplace_back("services");
  }
  const std::string ns(api::string_at(document, "metadata.namespace"));
  const bool adds = request.before == nullptr || request.subresource == Subresource::Resize;
  if (adds && !ns.empty() && !store.list({.kind = kResourceQuotas, .ns = ns}).items.empty()) {
    names.push_back("quota/" + ns);
  }
  return names;
}

Attempt attempt_of(const AdmissionRequest& request, const api::Object& object,
                   const WriteOptions& how) {
  using enum Attempt::Operation;
  return {.operation = request.before == nullptr ? Create : Update,
          .kind = request.kind,
          .subresource = request.subresource,
          .object = &object,
          .before = request.before,
          .dry_run = how.dry_run};
}

Result<void> admitted(const Attempt& attempt, const WriteOptions& how) {
  return how.admit ? how.admit(attempt) : Result<void>();
}

Result<void> complete_document(const Admission& chain, const AdmissionRequest& request,
                               const WriteOptions& how, api::json::value& document) {
  BERTH_CHECK(complete(chain.defaults, request, document));
  if (how.defaulted) {
    BERTH_CHECK(how.defaulted(document));
  }
  return complete(chain.mutate, request, document);
}

} // namespace

Registry::Registry(Store& store, Rng rng, Options options)
    : store_(&store), rng_(std::move(rng)), options_(std::move(options)),
      event_expiry_(options_.event_ttl) {}

/// The one place where objects are written: judged, stored, then what follows from it.
Result<api::Object> Registry::put(api::json::value document, const AdmissionRequest& request,
                                  const WriteOptions& how) {
  const Check check = [&](const api::Object& object) -> Result<void> {
    BERTH_CHECK(validate(options_.admission, request, object));
    if (object.meta().name.empty()) { // whatever the admission judges
      return invalid(request.kind, "",
                     {required_field("metadata.name", "name or generateName is required")});
    }
    BERTH_CHECK(admitted(attempt_of(request, object, how), how));
    if (request.kind == kPods &&
        (request.before == nullptr || request.subresource == Subresource::Resize)) {
      return quotas_.admit(*store_, object, request.before);
    }
    return request.before != nullptr ? Result<void>() : admit_object(*store_, object);
  };
  const std::uint64_t expected =
      request.before == nullptr ? 0 : request.before->meta().resource_version;
  const std::string name(api::string_at(document, "metadata.name"));
  if (how.dry_run) {
    BERTH_TRY(api::Object judged, api::Object::from_json(std::move(document)));
    BERTH_CHECK(check(judged));
    if (expected == 0 && store_->get(request.kind, judged.key())) {
      return already_exists(request.kind, name);
    }
    return judged;
  }
  const auto names = counted_under(*store_, request, document);
  Result<api::Object> written = store_->put_counted(std::move(document), expected, check, names);
  if (!written && written.error().code == Code::AlreadyExists) {
    return already_exists(request.kind, name);
  }
  if (!written) {
    return written;
  }
  if (request.kind == kEvents) {
    event_expiry_.written(*store_, *written, request.now);
  }
  quotas_.committed(*store_, request.before == nullptr ? api::Object() : *request.before, *written);
  return written;
}

Result<api::Object> Registry::get(const GroupKind& kind, const api::Key& key) const {
  if (auto found = store_->get(kind, key)) {
    return *std::move(found);
  }
  return not_found(kind, key.name);
}

Result<void> Registry::check_namespace(const GroupKind& kind, const std::string& ns) const {
  if (ns.empty()) {
    return {};
  }
  const auto found = store_->get(kNamespaces, {"", ns});
  if (!found && options_.namespaces == Namespaces::MustExist) {
    return not_found(kNamespaces, ns);
  }
  if (found && found->meta().deletion_timestamp) {
    return terminating(kind, ns);
  }
  return {};
}

Result<void> Registry::make_namespace(const std::string& ns, TimePoint now) {
  if (ns.empty() || store_->get(kNamespaces, {"", ns})) {
    return {};
  }
  api::json::object document{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", api::json::object{{"name", ns}}}};
  BERTH_TRY(const api::Object made, api::Object::from_json(std::move(document)));
  BERTH_CHECK(create(made, now));
  return {};
}

Result<void> Registry::choose_name(const GroupKind& kind, api::json::object& meta,
                                   const std::string& ns) {
  const auto text = [&](std::string_view member) {
    const api::json::value* value = meta.if_contains(member);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
  };
  if (!text("name").empty()) {
    return {};
  }
  const std::string base = text("generateName").substr(0, kMaxGeneratedBase);
  if (base.empty()) {
    return {}; // told with what else is wrong
  }
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    const std::string name = base + rng_.name_suffix();
    if (!store_->get(kind, {ns, name})) {
      meta["name"] = name;
      return {};
    }
  }
  return fail(Code::AlreadyExists, fmt::format("{} \"{}\" already exists, the server was not able "
                                               "to generate a unique name for the object",
                                               resource_text(kind), base));
}

Result<api::Object> Registry::create(const api::Object& object, TimePoint now,
                                     const WriteOptions& how) {
  Result<api::Object> made;
  for (int attempt = 0; attempt < kCreateAttempts; ++attempt) {
    made = create_once(object, now, how);
    if (made || made.error().code != Code::Conflict) {
      break;
    }
  }
  return made;
}

/// Conflict: another process wrote what it is judged by.
Result<api::Object> Registry::create_once(const api::Object& object, TimePoint now,
                                          const WriteOptions& how) {
  const GroupKind kind = group_kind(object);
  std::string ns = object.meta().ns;
  if (api::scope_of(object.gvk()) == api::Scope::Cluster) {
    ns.clear();
  } else if (ns.empty() && options_.namespaces == Namespaces::OnDemand) {
    ns = "default"; // elsewhere it is said, unless a custom kind has none
  }
  BERTH_CHECK(named(check_namespace(kind, ns), object));

  api::json::value value = editable(object.json());
  api::json::object& document = value.as_object();
  api::json::object& meta = api::object_at(document, "metadata");
  BERTH_CHECK(choose_name(kind, meta, ns));
  if (ns.empty()) {
    meta.stable_erase("namespace");
  } else {
    meta["namespace"] = ns;
  }
  for (const std::string_view field :
       {"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"}) {
    meta.stable_erase(field);
  }
  drop_nulls(meta);
  meta["uid"] = rng_.uuid();
  meta["creationTimestamp"] = to_rfc3339(now);
  if (counts_generation(kind)) {
    meta["generation"] = 1;
  }
  if (create_drops_status(kind)) {
    document.stable_erase("status");
  }
  const AdmissionRequest request{
      .kind = kind, .store = store_, .now = now, .notes = how.notes, .as_events = how.as_events};
  BERTH_CHECK(complete_document(options_.admission, request, how, value));
  BERTH_TRY(api::Object made, put(std::move(value), request, how));
  if (!how.dry_run) {
    BERTH_CHECK(make_namespace(ns, now));
  }
  return made;
}

Result<api::Object> Registry::update(const api::Object& object, Subresource subresource,
                                     TimePoint now, const WriteOptions& how) {
  BERTH_TRY(const api::Object current, get(group_kind(object), object.key()));
  BERTH_CHECK(check_identity(current, object));
  if (subresource == Subresource::None) {
    BERTH_CHECK(check_deletion_unasked(current, object));
  }
  return replace(current, partial_write(current, object, subresource), subresource, now, how);
}

Result<api::Object> Registry::patch(const GroupKind& kind, const api::Key& key,
                                    const api::json::value& merge_patch, Subresource subresource,
                                    TimePoint now, const WriteOptions& how) {
  BERTH_TRY(const api::Object current, get(kind, key));
  BERTH_CHECK(check_patch_identity(current, merge_patch));
  api::json::value document = editable(current.json());
  apply_patch(document.as_object(), merge_patch, subresource);
  return replace(current, std::move(document), subresource, now, how);
}

Result<api::Object> Registry::replace(const api::Object& current, api::json::value value,
                                      Subresource subresource, TimePoint now,
                                      const WriteOptions& how) {
  api::json::object& document = value.as_object();
  const api::json::object& stored = current.json().as_object();
  document["apiVersion"] = stored.at("apiVersion");
  document["kind"] = stored.at("kind");
  keep_server_fields(current, document);
  if (group_kind(current) == kPods) {
    keep_quality(current, document);
  }
  complete_conditions(current, now, document);
  const AdmissionRequest request{.operation = AdmissionRequest::Operation::Update,
                                 .kind = group_kind(current),
                                 .subresource = subresource,
                                 .before = &current,
                                 .store = store_,
                                 .now = now,
                                 .notes = how.notes,
                                 .as_events = how.as_events};
  BERTH_CHECK(complete_document(options_.admission, request, how, value));
  if (subresource != Subresource::Status && current.meta().generation > 0 &&
      desired_state_differs(stored, document)) {
    api::object_at(document, "metadata")["generation"] = current.meta().generation + 1;
  }
  if (api::same(document, stored)) {
    BERTH_CHECK(admitted(attempt_of(request, current, how), how));
    return current;
  }
  if (deletion_complete(document)) {
    if (how.admit) {
      BERTH_TRY(const api::Object last, api::Object::from_json(value));
      BERTH_CHECK(how.admit(attempt_of(request, last, how)));
    }
    return erase(std::move(value), current, how);
  }
  return put(std::move(value), request, how);
}

Result<api::Object> Registry::erase(api::json::value last, const api::Object& current,
                                    const WriteOptions& how) {
  if (how.dry_run) {
    return api::Object::from_json(std::move(last));
  }
  BERTH_TRY(api::Object gone, store_->erase(std::move(last), current.meta().resource_version));
  quotas_.committed(*store_, current, api::Object());
  return gone;
}

Result<api::Object> Registry::remove(const GroupKind& kind, const api::Key& key,
                                     const DeleteOptions& options, TimePoint now,
                                     const WriteOptions& how) {
  BERTH_TRY(const api::Object current, get(kind, key));
  api::json::value document = editable(current.json());
  BERTH_TRY(const DeletionStep step, begin_deletion(current, options, now, document.as_object()));
  if (step != DeletionStep::Keep) {
    BERTH_CHECK(admitted({.operation = Attempt::Operation::Delete,
                          .kind = kind,
                          .before = &current,
                          .dry_run = how.dry_run},
                         how));
  }
  switch (step) {
  case DeletionStep::Keep:
    return current;
  case DeletionStep::Write:
    if (how.dry_run) {
      return api::Object::from_json(std::move(document));
    }
    return store_->put(std::move(document), current.meta().resource_version, Check());
  case DeletionStep::Erase:
    return erase(std::move(document), current, how);
  }
  return current;
}

Result<api::Object> Registry::bind(const Binding& binding, TimePoint now, const WriteOptions& how) {
  BERTH_TRY(const api::Object current, get(kPods, binding.pod));
  BERTH_CHECK(check_binding(current, binding));
  api::json::value document = editable(current.json());
  apply_binding(binding, now, document.as_object());
  const AdmissionRequest request{.operation = AdmissionRequest::Operation::Update,
                                 .kind = kPods,
                                 .subresource = Subresource::Status,
                                 .before = &current,
                                 .store = store_,
                                 .now = now};
  return put(std::move(document), request, how);
}

} // namespace berth::store
