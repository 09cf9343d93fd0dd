#include "berth/node/contents/environment.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/node/contents/resource_field.h"
#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

namespace json = boost::json;

// Names an environment can have: printable ASCII without "=", since Kubernetes 1.32.
bool is_env_name(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

class Builder {
 public:
  Builder(const json::value& pod, const model::Pod& view, const EnvironmentFacts& facts)
      : pod_(&pod), view_(&view), facts_(&facts) {}

  Result<void> add_from(const json::value& entry) {
    const std::string_view prefix = api::string_at(entry, "prefix");
    for (const auto& [member, kind] :
         {std::pair{"configMapRef", SourceKind::ConfigMap}, {"secretRef", SourceKind::Secret}}) {
      const json::value* ref = api::find(entry, member);
      if (!ref) {
        continue;
      }
      BERTH_TRY(const std::optional<SourceData> data, data_of(kind, *ref));
      for (const auto& [key, value] : data.value_or(SourceData())) {
        const std::string name = fmt::format("{}{}", prefix, key);
        if (is_env_name(name)) {
          set(name, value);
        }
      }
    }
    return {};
  }

  Result<void> add(const json::value& entry, const json::value& container) {
    const std::string name(api::string_at(entry, "name"));
    const std::string_view value = api::string_at(entry, "value");
    const json::value* from = api::find(entry, "valueFrom");
    if (!value.empty() || !from) {
      set(name, expand_references(value, known()));
      return {};
    }
    BERTH_TRY(std::optional<std::string> found, referred(*from, container));
    if (found) {
      set(name, *std::move(found));
    }
    return {};
  }

  Environment take() && {
    for (const auto& [name, value] : facts_->services) {
      if (!has(name)) {
        env_.emplace_back(name, value);
      }
    }
    return std::move(env_);
  }

 private:
  bool has(std::string_view name) const {
    return std::ranges::any_of(env_, [&](const auto& each) { return each.first == name; });
  }

  void set(const std::string& name, std::string value) {
    const auto found =
        std::ranges::find_if(env_, [&](const auto& each) { return each.first == name; });
    if (found != env_.end()) {
      found->second = std::move(value);
    } else {
      env_.emplace_back(name, std::move(value));
    }
  }

  // What $(NAME) may refer to: services too, which the pod's own names hide.
  Environment known() const {
    Environment all(facts_->services.begin(), facts_->services.end());
    all.insert(all.end(), env_.begin(), env_.end());
    return all;
  }

  // Nothing: it is not there and need not be.
  Result<std::optional<SourceData>> data_of(SourceKind kind, const json::value& ref) const {
    auto data = facts_->sources->text_of({kind, std::string(api::string_at(ref, "name"))});
    if (data) {
      return std::optional(*std::move(data));
    }
    if (data.error().code == Code::NotFound && bool_at(ref, "optional").value_or(false)) {
      return std::optional<SourceData>();
    }
    return tl::unexpected(data.error());
  }

  Result<std::optional<std::string>> key_of(SourceKind kind, const json::value& ref) const {
    BERTH_TRY(const std::optional<SourceData> data, data_of(kind, ref));
    if (!data) {
      return std::optional<std::string>();
    }
    const std::string_view key = api::string_at(ref, "key");
    if (const auto found = data->find(std::string(key)); found != data->end()) {
      return std::optional(found->second);
    }
    if (bool_at(ref, "optional").value_or(false)) {
      return std::optional<std::string>();
    }
    return fail(Code::NotFound, fmt::format("couldn't find key {} in {} {}/{}", key,
                                            kind == SourceKind::ConfigMap ? "ConfigMap" : "Secret",
                                            view_->meta.ns, api::string_at(ref, "name")));
  }

  Result<std::optional<std::string>> referred(const json::value& from,
                                              const json::value& container) const {
    if (const json::value* ref = api::find(from, "configMapKeyRef")) {
      return key_of(SourceKind::ConfigMap, *ref);
    }
    if (const json::value* ref = api::find(from, "secretKeyRef")) {
      return key_of(SourceKind::Secret, *ref);
    }
    if (const json::value* ref = api::find(from, "fieldRef")) {
      return std::optional(
          downward_field(*pod_, api::string_at(*ref, "fieldPath"), facts_->address));
    }
    if (const json::value* ref = api::find(from, "resourceFieldRef")) {
      const std::string_view named = api::string_at(*ref, "containerName");
      BERTH_TRY(std::string text,
                of_container(named.empty() ? api::string_at(container, "name") : named, *ref));
      return std::optional(std::move(text));
    }
    return fail(Code::Invalid,
                fmt::format("env has a source that is not known; try configMapKeyRef, "
                            "secretKeyRef, fieldRef or resourceFieldRef: {}",
                            api::to_json(from)));
  }

  Result<std::string> of_container(std::string_view name, const json::value& ref) const {
    for (const auto* list : {&view_->spec.containers, &view_->spec.init_containers}) {
      const auto found = std::ranges::find(*list, name, &model::Container::name);
      if (found != list->end()) {
        return resource_field(*found, ref, facts_->allocatable);
      }
    }
    return fail(Code::NotFound, fmt::format("container {} not found", name));
  }

  const json::value* pod_;
  const model::Pod* view_;
  const EnvironmentFacts* facts_;
  Environment env_;
};

} // namespace

Result<Environment> full_environment(const json::value& pod, const json::value& container,
                                     const model::Pod& view, const EnvironmentFacts& facts) {
  Builder builder(pod, view, facts);
  for (const json::value& entry : list_at(container, "envFrom")) {
    BERTH_CHECK(builder.add_from(entry));
  }
  for (const json::value& entry : list_at(container, "env")) {
    BERTH_CHECK(builder.add(entry, container));
  }
  return std::move(builder).take();
}

} // namespace berth::node
