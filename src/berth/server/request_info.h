// What an HTTP request asks of the Kubernetes API, read from its method and path. Source: apiserver
// endpoints/request/requestinfo.go.
#pragma once

#include <string>

#include "berth/net/http.h"

namespace berth::server {

struct RequestInfo {
  /// get, list, watch, create, update, patch, delete, deletecollection; else the method in lower
  /// case.
  std::string verb;
  std::string path;
  bool is_resource =
      false; ///< under /api/VERSION or /apis/GROUP/VERSION; else only verb and path have meaning
  std::string group; ///< "" for the core group
  std::string version;
  std::string ns; ///< "" across namespaces and for cluster-scoped resources; of a namespace itself:
                  ///< its name
  std::string resource; ///< "" where only a group and version are named
  std::string subresource;
  std::string name;
};

/// `query`: the decoded parameters; `watch=true` makes a list a watch.
RequestInfo request_info(const net::HttpRequest& request, const net::HttpHeaders& query);

/// The value of a parameter; "" if it is absent.
std::string_view parameter(const net::HttpHeaders& query, std::string_view name);
/// As Go's strconv.ParseBool reads it, and Kubernetes' conversion: "", "0" and "false" are false,
/// all else is true.
bool flag(const net::HttpHeaders& query, std::string_view name);

} // namespace berth::server
