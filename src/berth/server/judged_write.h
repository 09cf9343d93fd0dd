// Writes of a request, judged by admission policies and written down for the audit log.
#pragma once

#include "berth/schema/resource.h"
#include "berth/server/call.h"
#include "berth/store/registry.h"

namespace berth::server {

/// How this call writes objects of its resource: whether it only tries, who judges it, where
/// warnings go. `shared` and `call` outlive the write.
store::WriteOptions judged_write(const Shared& shared, Call& call, bool dry_run);

/// What is asked of a subresource, or is answered without being kept.
struct Errand {
  std::string operation = "CREATE";
  api::GroupVersionKind kind; ///< of `object`
  const api::json::value* object = nullptr;
  const api::json::value* before = nullptr;
  bool dry_run = false;
};
/// Error: a policy denies it.
Answer<void> judge_errand(const Shared& shared, Call& call, const Errand& errand);

/// Judges what components of this process write: they come by no server, and have one name.
store::Admit judged_components(const Policies& policies);

} // namespace berth::server
