// What the builders of all kinds share: metadata verbs over a JSON document. Used by tests only.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/api/object.h"
#include "berth/base/assert.h"
#include "berth/base/time.h"

namespace berth::test {

namespace json = boost::json;

inline json::string_view text(std::string_view s) {
  return {s.data(), s.size()};
}

/// Verbs return the builder of the derived kind, so that they chain in any order. A bad document is
/// a bug of the test: it aborts with the reason.
template <class Self> class ObjectBuilder {
 public:
  ObjectBuilder(std::string_view api_version, std::string_view kind, std::string_view name) {
    document_["apiVersion"] = text(api_version);
    document_["kind"] = text(kind);
    document_["metadata"] = json::object{{"name", text(name)}};
  }

  Self& ns(std::string_view ns) { return set_meta("namespace", text(ns)); }
  Self& uid(std::string_view uid) { return set_meta("uid", text(uid)); }
  Self& created(TimePoint at) { return set_meta("creationTimestamp", json::value(to_rfc3339(at))); }
  Self& deleted(TimePoint at) { return set_meta("deletionTimestamp", json::value(to_rfc3339(at))); }
  Self& label(std::string_view key, std::string_view value) {
    api::object_at(meta(), "labels")[text(key)] = text(value);
    return self();
  }
  Self& annotation(std::string_view key, std::string_view value) {
    api::object_at(meta(), "annotations")[text(key)] = text(value);
    return self();
  }
  Self& finalizer(std::string_view name) {
    list_at(meta(), "finalizers").push_back(json::value(text(name)));
    return self();
  }
  Self& owned_by(const api::Object& owner) {
    api::set_controller(document_, owner);
    return self();
  }
  /// For what has no verb.
  Self& edit(const std::function<void(json::object&)>& change) {
    change(document_);
    return self();
  }

  const json::object& document() const { return document_; }
  api::Object object() const {
    auto made = api::Object::from_json(json::value(document_));
    BERTH_ASSERT(made.has_value(), berth::to_string(made.error()));
    return *std::move(made);
  }

 protected:
  Self& self() { return static_cast<Self&>(*this); }
  json::object& root() { return document_; }
  json::object& meta() { return api::object_at(document_, "metadata"); }
  json::object& spec() { return api::object_at(document_, "spec"); }
  json::object& status() { return api::object_at(document_, "status"); }
  static json::array& list_at(json::object& parent, std::string_view key) {
    json::value& list = parent[text(key)];
    return list.is_array() ? list.get_array() : list.emplace_array();
  }
  template <class T> T decoded(Result<T> made) const {
    BERTH_ASSERT(made.has_value(), berth::to_string(made.error()));
    return *std::move(made);
  }

 private:
  Self& set_meta(std::string_view key, json::value value) {
    meta()[text(key)] = std::move(value);
    return self();
  }

  json::object document_;
};

} // namespace berth::test
