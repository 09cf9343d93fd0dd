#include "berth/client/events.h"

#include <utility>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/client/event_correlator.h"

namespace berth::client {
namespace {

constexpr std::size_t kMaxMessage = 1024;

/// At most kMaxMessage bytes, cut between UTF-8 characters.
std::string cut(std::string_view message) {
  if (message.size() <= kMaxMessage) {
    return std::string(message);
  }
  std::size_t end = kMaxMessage;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) {
    --end;
  }
  return std::string(message.substr(0, end));
}

std::string about_text(const api::Object& about) {
  return fmt::format("{}/{}/{}/{}", about.gvk().api_version(), about.gvk().kind,
                     about.key().to_string(), about.meta().uid);
}

api::json::object reference_to(const api::Object& about) {
  const api::ObjectMeta& meta = about.meta();
  api::json::object reference{{"kind", about.gvk().kind}};
  if (!meta.ns.empty()) {
    reference["namespace"] = meta.ns;
  }
  reference["name"] = meta.name;
  if (!meta.uid.empty()) {
    reference["uid"] = meta.uid;
  }
  reference["apiVersion"] = about.gvk().api_version();
  if (meta.resource_version != 0) {
    reference["resourceVersion"] = fmt::to_string(meta.resource_version);
  }
  return reference;
}

} // namespace

struct EventRecorder::State {
  State(Client& c, Loop& l, Rng r, std::string component_, std::string host_)
      : client(&c), loop(&l), rng(std::move(r)), component(std::move(component_)),
        host(std::move(host_)) {}

  api::json::object event_object(const api::Object& about, std::string_view type,
                                 std::string_view reason, const Correlated& what,
                                 const std::string& name) const {
    api::json::object source{{"component", component}};
    if (!host.empty()) {
      source["host"] = host;
    }
    const std::string ns = about.meta().ns.empty() ? "default" : about.meta().ns;
    return {{"apiVersion", "v1"},
            {"kind", "Event"},
            {"metadata", api::json::object{{"name", name}, {"namespace", ns}}},
            {"involvedObject", reference_to(about)},
            {"reason", reason},
            {"message", what.message},
            {"source", std::move(source)},
            {"firstTimestamp", to_rfc3339(what.first)},
            {"lastTimestamp", to_rfc3339(loop->now())},
            {"count", what.count},
            {"type", type},
            {"eventTime", nullptr},
            {"reportingComponent", component},
            {"reportingInstance", host}};
  }

  Client* client;
  Loop* loop;
  Rng rng;
  std::string component;
  std::string host;
  EventCorrelator correlator;
};

EventRecorder::EventRecorder(Client& client, Loop& loop, Rng rng, std::string component,
                             std::string host)
    : state_(std::make_unique<State>(client, loop, std::move(rng), std::move(component),
                                     std::move(host))) {}

EventRecorder::~EventRecorder() = default;

void EventRecorder::record(const api::Object& about, EventType type, std::string_view reason,
                           std::string_view message) {
  const std::string_view type_text = type == EventType::Warning ? "Warning" : "Normal";
  const EventKey key{.about = about_text(about),
                     .type = std::string(type_text),
                     .reason = std::string(reason),
                     .message = cut(message)};
  auto what = state_->correlator.observe(key, state_->loop->now());
  if (!what) {
    return;
  }
  what->message = cut(what->message);
  const bool known = !what->name.empty();
  const std::string name =
      known ? what->name : fmt::format("{}.{:016x}", about.meta().name, state_->rng.next());
  const auto object =
      api::Object::from_json(state_->event_object(about, type_text, reason, *what, name));
  if (!object) {
    return;
  }
  if (!known) {
    state_->correlator.written_as(key, *what, name);
    state_->client->create(*object, {});
    return;
  }
  // Gone in the meantime: write it anew under its name.
  const auto recreate = [client = state_->client,
                         object = *object](const Result<api::Object>& patched) {
    if (!patched && patched.error().code == Code::NotFound) {
      client->create(object, {});
    }
  };
  state_->client->patch(kEvents, object->key(),
                        api::json::object{{"count", what->count},
                                          {"lastTimestamp", to_rfc3339(state_->loop->now())},
                                          {"message", what->message}},
                        Subresource::None, recreate);
}

} // namespace berth::client
