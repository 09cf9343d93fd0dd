// How requests of a Client look on the wire: paths, queries and bodies of the Kubernetes API, and
// its answers as values.
#pragma once

#include <string>

#include "berth/client/client.h"
#include "berth/client/token_source.h"
#include "berth/net/http.h"

namespace berth::client {

/// /api/v1/namespaces/NS/pods, /apis/batch/v1/jobs. `ns` "": across namespaces, or a cluster-scoped
/// kind.
std::string collection_path(const GroupKind& kind, const std::string& ns);
std::string object_path(const GroupKind& kind, const api::Key& key, Subresource subresource);
/// labelSelector and fieldSelector; "" for everything. Without "?".
std::string selection_query(const ListOptions& what);

std::string delete_body(const DeleteOptions& options);
std::string binding_body(const Binding& binding);
std::string token_body(const TokenRequest& request);

/// The error of an answer with a status of 400 or more: a Status document, or whatever text.
Error error_of(const net::HttpResponse& response);
/// The object of a successful answer. Error Internal: the body is none.
Result<api::Object> object_of(const net::HttpResponse& response);

/// The token of an answered TokenRequest. Error Internal: it has none.
Result<Token> token_of(const api::json::value& answered);

/// The same as object_of() where the server may answer with a Status: then an object with the key
/// alone, and with the uid that the answer tells, else `uid`.
Result<api::Object> named_object_of(const net::HttpResponse& response, const GroupKind& kind,
                                    const api::Key& key, std::string_view uid);

struct ListPage {
  ObjectList list;
  std::string continue_token;
};
/// Items get the kind and version that a list says once.
Result<ListPage> list_page_of(const net::HttpResponse& response, const GroupKind& kind);

/// One line of a watch. Error: an ERROR event, or no event.
Result<WatchEvent> event_of(std::string_view line);

} // namespace berth::client
