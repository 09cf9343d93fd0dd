// Where a Kubernetes API is and how to speak to it: a kubeconfig file, as kubectl reads it, or what
// a pod finds in its container. Source: client-go tools/clientcmd, rest.InClusterConfig.
#pragma once

#include <string>

#include "berth/base/result.h"
#include "berth/net/http.h"
#include "berth/net/tls.h"

namespace berth::client {

struct ServerAccess {
  net::HttpUrl url;
  net::TlsClientOptions tls;  ///< for https
  std::string token;          ///< bearer token; "" for none
  std::string token_file;     ///< read anew now and then, since tokens of service accounts expire
  std::string ns = "default"; ///< of the context
};

/// The text of one kubeconfig file. `folder`: what relative file names in it are relative to.
/// `context` "": the current one. Errors name the file, the context and the field; users whose
/// credentials come from programs (exec, auth-provider) are refused.
Result<ServerAccess> parse_kubeconfig(std::string_view text, const std::string& file,
                                      const std::string& context = "");
/// `path` "": $KUBECONFIG (its first file), else ~/.kube/config; and in a pod without either the
/// pod's service account.
Result<ServerAccess> load_access(const std::string& path, const std::string& context = "");

} // namespace berth::client
