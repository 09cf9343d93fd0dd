// One request under way, and what all of them share.
#pragma once

#include <string>
#include <vector>

#include "berth/base/loop.h"
#include "berth/net/http_server.h"
#include "berth/server/access/rbac.h"
#include "berth/server/list_pages.h"
#include "berth/server/media.h"
#include "berth/server/nodes.h"
#include "berth/server/request_info.h"
#include "berth/server/resources.h"
#include "berth/server/streams/live_connections.h"
#include "berth/server/table.h"
#include "berth/server/user.h"
#include "berth/store/registry.h"

namespace berth::server {

class Policies;

/// What the server's parts work on; outlives every call.
struct Shared {
  Loop* loop;
  store::Registry* registry;
  Resources* resources;
  ListPages* pages;
  const Rbac* rbac;
  const Policies* policies;
  GpuColumns gpu_columns;
  Nodes* nodes; ///< null: there are none
  LiveConnections* connections;
};

/// Gives the answer that a call has once something else has answered.
using Later = std::function<void(net::HttpRespond)>;

struct Call {
  const net::HttpRequest* request;
  RequestInfo info;
  net::HttpHeaders query;
  User user;
  Wanted wanted;
  store::AdmissionNotes notes; ///< warnings are told in Warning headers
  Later later; ///< set by who answers: what it returned is not the answer, this gives it
};

} // namespace berth::server
