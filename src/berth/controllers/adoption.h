// Whose an object is: a controller keeps what it made, adopts what its selector matches and nobody
// controls, and releases what its selector matches no more. Source: kubernetes
// pkg/controller/controller_ref_manager.go.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/selector.h"
#include "berth/client/client.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/fresh_view.h"

namespace berth::controllers {

enum class Claim {
  Keep,    ///< it is the owner's
  Adopt,   ///< nobody's, and the owner's selector matches
  Release, ///< the owner's, and its selector does not match
  Leave    ///< none of the owner's business
};

/// An owner that is being deleted neither adopts nor releases.
Claim claim_of(const api::Object& object, const api::Object& owner, const api::Selector& selector);

/// For FreshView: "namespace/owner" for what an object of this kind controls, "namespace/" for what
/// nobody controls.
FreshView::IndexOf index_by_controller(std::string_view kind);
/// The name under which index_by_controller shows what nobody controls.
std::string orphans_of(const std::string& ns);
/// Whether the change may concern those who could adopt: labels or owner have changed.
bool claims_change(const api::Object& old, const api::Object& now);

struct Claims {
  api::Object owner;
  std::vector<api::Object> adopt;
  std::vector<api::Object> release;

  bool empty() const { return adopt.empty() && release.empty(); }
};

/// Adopts and releases; what is adopted is adopted only after a live read has shown that the owner
/// still wants it. `written` sees every object that changed, `then` runs once at the end.
void settle_claims(client::Client& client, Claims claims,
                   std::function<void(const api::Object&)> written,
                   std::function<void(client::Outcome)> then);

} // namespace berth::controllers
