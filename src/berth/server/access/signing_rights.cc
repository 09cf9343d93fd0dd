#include "berth/server/access/signing_rights.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/net/base64.h"
#include "berth/net/signing_request.h"
#include "berth/store/errors.h"

namespace berth::server {
namespace {

const store::GroupKind kRequests{"certificates.k8s.io", "CertificateSigningRequest"};
constexpr std::string_view kClients = "kubernetes.io/kube-apiserver-client";

bool may_approve(const Rbac& rbac, const User& user, const std::string& signer) {
  RequestInfo what;
  what.verb = "approve";
  what.is_resource = true;
  what.group = kRequests.group;
  what.version = "*";
  what.resource = "signers";
  for (const std::string& name : {signer, signer.substr(0, signer.find('/')) + "/*"}) {
    what.name = name;
    if (rbac.authorize(user, what).allowed) {
      return true;
    }
  }
  return false;
}

bool is_for_masters(const boost::json::value& request) {
  const auto pem = net::from_base64(api::string_at(request, "spec.request"));
  const auto subject = net::read_request(pem.value_or(""));
  return subject &&
         std::ranges::find(subject->organizations, kMasters) != subject->organizations.end();
}

} // namespace

Result<void> check_signing_rights(const Rbac& rbac, const User& user, const RequestInfo& info,
                                  const boost::json::value& request) {
  if (info.group != kRequests.group || info.resource != "certificatesigningrequests") {
    return {};
  }
  const std::string signer(api::string_at(request, "spec.signerName"));
  const std::string_view name = api::string_at(request, "metadata.name");
  if (info.subresource == "approval" && !may_approve(rbac, user, signer)) {
    return store::forbidden(kRequests, name,
                            fmt::format("user not permitted to approve requests with signerName {}",
                                        store::quote(signer)));
  }
  if (info.verb == "create" && signer == kClients && is_for_masters(request)) {
    return store::forbidden(
        kRequests, name,
        fmt::format("use of {} signer with {} group is not allowed", kClients, kMasters));
  }
  return {};
}

} // namespace berth::server
