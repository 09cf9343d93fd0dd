#include "berth/server/definitions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/log.h"
#include "berth/schema/cel_rules.h"
#include "berth/schema/custom_resource.h"
#include "berth/schema/definition_change.h"
#include "berth/schema/validate.h"
#include "berth/store/errors.h"

namespace berth::server {
namespace {

namespace json = api::json;

constexpr Duration kCleanupRetry = Duration::seconds(1);

bool is_definition(const schema::Resource& resource) {
  return resource.group == kDefinitions.group && resource.kind == kDefinitions.kind;
}

json::object condition(std::string_view type, bool holds, std::string_view reason,
                       std::string_view message, TimePoint now) {
  return {{"type", type},
          {"status", holds ? "True" : "False"},
          {"lastTransitionTime", to_rfc3339(now)},
          {"reason", reason},
          {"message", message}};
}

bool has_condition(const api::Object& definition, std::string_view type) {
  const json::value* conditions = api::find_path(definition.json(), "status.conditions");
  if (conditions == nullptr || !conditions->is_array()) {
    return false;
  }
  return std::ranges::any_of(conditions->get_array(), [&](const json::value& one) {
    return api::string_at(one, "type") == type && api::string_at(one, "status") == "True";
  });
}

bool has_finalizer(const api::Object& definition) {
  const auto& finalizers = definition.meta().finalizers;
  return std::ranges::find(finalizers, kCleanupFinalizer) != finalizers.end();
}

store::GroupKind defined_kind(const api::Object& definition) {
  return {std::string(api::string_at(definition.json(), "spec.group")),
          std::string(api::string_at(definition.json(), "spec.names.kind"))};
}

/// What a status says before anything is known.
void begin_status(json::object& status) {
  status.emplace("conditions", nullptr);
  status.emplace("acceptedNames", json::object{{"plural", ""}, {"kind", ""}});
}

} // namespace

struct Definitions::State : std::enable_shared_from_this<Definitions::State> {
  State(Loop& on, store::Registry& over, Resources& into)
      : loop(&on), registry(&over), resources(&into), retry(on) {}

  void start() {
    auto watching = registry->watch(
        {.what = {.kind = kDefinitions, .ns = "", .labels = {}}, .bookmarks = false},
        [this](const store::WatchEvent& event) { happened(event); });
    if (watching) {
      subscription = *std::move(watching);
    }
  }

  /// Runs within the write: what is defined is served at once, all else later.
  void happened(const store::WatchEvent& event) {
    const std::string& name = event.object.meta().name;
    if (event.type == store::WatchEvent::Type::Deleted) {
      resources->define(name, {});
      return;
    }
    if (event.type == store::WatchEvent::Type::Bookmark) {
      return;
    }
    if (auto defined = schema::resources_of(event.object.json())) {
      resources->define(name, *std::move(defined));
    } else {
      log(LogLevel::Error, "definitions", name + ": " + to_string(defined.error()));
    }
    if (event.object.meta().deletion_timestamp) {
      later([name](State& self) { self.clean_up(name); });
    } else if (!has_condition(event.object, "Established")) {
      later([name](State& self) { self.establish(name); });
    }
  }

  void later(std::function<void(State&)> task) {
    loop->post([weak = weak_from_this(), task = std::move(task)] {
      if (const auto self = weak.lock()) {
        task(*self);
      }
    });
  }

  void establish(const std::string& name) {
    const auto found = registry->get(kDefinitions, {"", name});
    if (!found || found->meta().deletion_timestamp || has_condition(*found, "Established")) {
      return;
    }
    const TimePoint now = loop->now();
    write(found->edit([&](json::object& document) {
      json::object& status = api::object_at(document, "status");
      status["acceptedNames"] = *api::find_path(found->json(), "spec.names");
      status["conditions"] =
          json::array{condition("NamesAccepted", true, "NoConflicts", "no conflicts found", now),
                      condition("Established", true, "InitialNamesAccepted",
                                "the initial names have been accepted", now)};
    }),
          store::Subresource::Status);
  }

  /// Its objects go first; those whose finalizers hold them are waited for.
  void clean_up(const std::string& name) {
    const auto found = registry->get(kDefinitions, {"", name});
    if (!found || !found->meta().deletion_timestamp || !has_finalizer(*found)) {
      return;
    }
    const store::ListOptions all{.kind = defined_kind(*found), .ns = "", .labels = {}};
    for (const api::Object& object : registry->list(all).items) {
      if (!object.meta().deletion_timestamp) {
        (void)registry->remove(all.kind, object.key(), {}, loop->now());
      }
    }
    if (!registry->list(all).items.empty()) {
      retry.set(kCleanupRetry, [this, name] { clean_up(name); });
      return;
    }
    write(found->edit([](json::object& document) {
      json::object& meta = api::object_at(document, "metadata");
      json::array kept;
      for (const json::value& one : meta["finalizers"].as_array()) {
        if (one != kCleanupFinalizer) {
          kept.push_back(one);
        }
      }
      meta["finalizers"] = std::move(kept);
    }),
          store::Subresource::None);
  }

  void write(const api::Object& definition, store::Subresource subresource) {
    if (const auto written = registry->update(definition, subresource, loop->now()); !written) {
      log(LogLevel::Warn, "definitions", to_string(written.error()));
    }
  }

  Loop* loop;
  store::Registry* registry;
  Resources* resources;
  Timer retry;
  std::unique_ptr<store::Subscription> subscription;
};

Definitions::Definitions(Loop& loop, store::Registry& registry, Resources& resources)
    : state_(std::make_shared<State>(loop, registry, resources)) {
  state_->start();
}

Definitions::~Definitions() = default;

namespace {

/// Rules that are written as expressions count on an object of the right shape.
void judge_by_rules(const schema::Resource& resource, const api::Object& before,
                    const json::value& document, schema::FieldErrors& wrong) {
  if (resource.rules->empty()) {
    return;
  }
  const bool misshapen = std::ranges::any_of(wrong, [](const schema::FieldError& error) {
    return error.reason == "FieldValueNotSupported" || error.reason == "FieldValueRequired" ||
           error.reason == "FieldValueTooLong" || error.reason == "FieldValueTooMany" ||
           error.reason == "FieldValueTypeInvalid";
  });
  if (misshapen) {
    wrong.push_back(schema::invalid_value(
        "<nil>", json::value("null"),
        "some validation rules were not checked because the object was invalid; correct the "
        "existing errors to complete validation"));
    return;
  }
  std::ranges::move(
      schema::validate_by_rules(*resource.rules, document, before ? &before.json() : nullptr),
      std::back_inserter(wrong));
}

} // namespace

Result<void> judge_by_schema(const schema::Resource& resource, const api::Object& before,
                             json::value& document) {
  schema::FieldErrors wrong;
  if (is_definition(resource)) {
    schema::default_definition(document.as_object());
    begin_status(api::object_at(document.as_object(), "status"));
    wrong = schema::check_definition(document);
    std::ranges::move(schema::check_definition_change(before ? &before.json() : nullptr, document),
                      std::back_inserter(wrong));
  } else if (resource.custom) {
    schema::apply_defaults(document, *resource.type);
    wrong = schema::validate(document, *resource.type, before ? &before.json() : nullptr);
    judge_by_rules(resource, before, document, wrong);
  }
  if (wrong.empty()) {
    return {};
  }
  store::FieldErrors causes;
  for (schema::FieldError& error : wrong) {
    causes.push_back({.code = Code::Invalid,
                      .message = std::move(error.message),
                      .where = Where{.file = {}, .field = std::move(error.field)}});
  }
  return store::invalid({resource.group, resource.kind}, api::string_at(document, "metadata.name"),
                        std::move(causes));
}

} // namespace berth::server
