#include "berth/controllers/adoption.h"

#include <memory>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/controllers/fields.h"
#include "berth/controllers/gather.h"

namespace berth::controllers {

using api::Object;
using client::Outcome;

namespace {

namespace json = api::json;

client::GroupKind kind_of(const Object& object) {
  return {object.gvk().group, object.gvk().kind};
}

/// A merge patch for exactly this version.
json::value owners_patch(const Object& object, json::value owners) {
  return json::object{
      {"metadata", json::object{{"uid", object.meta().uid},
                                {"resourceVersion", fmt::to_string(object.meta().resource_version)},
                                {"ownerReferences", std::move(owners)}}}};
}

json::value adoption_patch(const Object& object, const Object& owner) {
  json::object document = object.json().as_object();
  api::set_controller(document, owner);
  return owners_patch(object, document.at("metadata").at("ownerReferences"));
}

json::value release_patch(const Object& object, const Object& owner) {
  json::array rest;
  for (const json::value& reference : array_at(object.json(), "metadata.ownerReferences")) {
    if (api::string_at(reference, "uid") != owner.meta().uid) {
      rest.push_back(reference);
    }
  }
  return owners_patch(object, rest.empty() ? json::value(nullptr) : json::value(std::move(rest)));
}

struct Settling {
  client::Client* client;
  Claims claims;
  std::function<void(const Object&)> written;
};

void write(const std::shared_ptr<Settling>& work, const Object& object, json::value patch,
           std::function<void(Outcome)> done) {
  work->client->patch(kind_of(object), object.key(), std::move(patch), client::Subresource::None,
                      [work, done = std::move(done)](const Result<Object>& stored) {
                        if (stored) {
                          work->written(*stored);
                        }
                        done(stored ? Outcome::Done : Outcome::Retry);
                      });
}

} // namespace

Claim claim_of(const Object& object, const Object& owner, const api::Selector& selector) {
  const bool matches = selector.matches(object.meta().labels);
  const bool owner_goes = owner.meta().deletion_timestamp.has_value();
  if (const api::OwnerReference* controller = object.meta().controller()) {
    if (controller->uid != owner.meta().uid) {
      return Claim::Leave;
    }
    if (matches) {
      return Claim::Keep;
    }
    return owner_goes ? Claim::Leave : Claim::Release;
  }
  const bool wanted = matches && !owner_goes && !object.meta().deletion_timestamp &&
                      object.meta().ns == owner.meta().ns;
  return wanted ? Claim::Adopt : Claim::Leave;
}

FreshView::IndexOf index_by_controller(std::string_view kind) {
  return [kind = std::string(kind)](const Object& object) -> std::vector<std::string> {
    const api::OwnerReference* owner = object.meta().controller();
    if (owner == nullptr) {
      return {orphans_of(object.meta().ns)};
    }
    if (owner->kind != kind) {
      return {};
    }
    return {api::Key{object.meta().ns, owner->name}.to_string()};
  };
}

std::string orphans_of(const std::string& ns) {
  return ns + "/";
}

bool claims_change(const Object& old, const Object& now) {
  return !old || !now || old.meta().labels != now.meta().labels ||
         old.meta().owner_references != now.meta().owner_references;
}

void settle_claims(client::Client& client, Claims claims,
                   std::function<void(const Object&)> written, std::function<void(Outcome)> then) {
  const auto work = std::make_shared<Settling>(
      Settling{.client = &client, .claims = std::move(claims), .written = std::move(written)});
  const auto all = Gather::make(std::move(then));
  const Object& owner = work->claims.owner;
  for (const Object& object : work->claims.release) {
    write(work, object, release_patch(object, owner), all->expect());
  }
  if (!work->claims.adopt.empty()) {
    client.get(
        kind_of(owner), owner.key(), [work, all, done = all->expect()](const Result<Object>& live) {
          const Object& known = work->claims.owner;
          const bool wants =
              live && live->meta().uid == known.meta().uid && !live->meta().deletion_timestamp;
          if (!wants) {
            done(live || live.error().code == Code::NotFound ? Outcome::Done : Outcome::Retry);
            return;
          }
          const auto adopted = Gather::make(done);
          for (const Object& object : work->claims.adopt) {
            write(work, object, adoption_patch(object, known), adopted->expect());
          }
          adopted->close();
        });
  }
  all->close();
}

} // namespace berth::controllers
