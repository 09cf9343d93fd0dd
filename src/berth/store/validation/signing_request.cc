#include "berth/store/validation/signing_request.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "berth/store/document.h"
#include "berth/store/naming.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/immutable.h"
#include "berth/store/validation/judged.h"

namespace berth::store {
namespace {

using api::json::object;

const GroupKind kRequests{"certificates.k8s.io", "CertificateSigningRequest"};

constexpr std::int64_t kShortestSeconds = 600;

const std::vector<std::string> kUsages = {"any",
                                          "cert sign",
                                          "client auth",
                                          "code signing",
                                          "content commitment",
                                          "crl sign",
                                          "data encipherment",
                                          "decipher only",
                                          "digital signature",
                                          "email protection",
                                          "encipher only",
                                          "ipsec end system",
                                          "ipsec tunnel",
                                          "ipsec user",
                                          "key agreement",
                                          "key encipherment",
                                          "microsoft sgc",
                                          "netscape sgc",
                                          "ocsp signing",
                                          "s/mime",
                                          "server auth",
                                          "signing",
                                          "timestamping"};

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Request = std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)>;

/// Whether the PEM holds a request that its own key has signed.
bool is_signed_request(const std::string& pem) {
  const Bio bytes(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const Request request(PEM_read_bio_X509_REQ(bytes.get(), nullptr, nullptr, nullptr),
                        &X509_REQ_free);
  return request && X509_REQ_verify(request.get(), X509_REQ_get0_pubkey(request.get())) == 1;
}

void check_request(const Judged& request) {
  const std::string pem = from_base64(request.text());
  if (pem.find("-----BEGIN CERTIFICATE REQUEST-----") == std::string::npos) {
    request.invalid("PEM block type must be CERTIFICATE REQUEST");
  } else if (!is_signed_request(pem)) {
    request.invalid("the certificate request does not parse or its signature does not fit");
  }
}

/// "example.com/signer-name"
void check_signer(const Judged& signer) {
  const std::string_view text = signer.text();
  const std::size_t slash = text.find('/');
  if (!signer.need_text()) {
    return;
  }
  if (text == "kubernetes.io/legacy-unknown") {
    signer.invalid("the legacy signerName is not allowed via this API version");
    return;
  }
  if (slash == std::string_view::npos || text.find('/', slash + 1) != std::string_view::npos) {
    signer.invalid(
        "must be a fully qualified domain and path of the form 'example.com/signer-name'");
    return;
  }
  const std::string_view domain = text.substr(0, slash);
  for (const std::string& why : subdomain_errors(domain)) {
    signer.invalid(quote(domain), fmt::format("validating label {}: {}", quote(domain), why));
  }
  if (domain.find('.') == std::string_view::npos) {
    signer.invalid(quote(domain), "should be a domain with at least two segments separated by "
                                  "dots");
  }
}

void check_spec(const Judged& spec) {
  check_request(spec["request"]);
  if (spec.size("usages") == 0) {
    spec["usages"].required();
  }
  spec.each("usages", [](const Judged& usage) {
    if (std::ranges::find(kUsages, usage.text()) == kUsages.end()) {
      usage.unsupported(kUsages);
    }
  });
  std::set<std::string, std::less<>> seen;
  spec.each("usages", [&](const Judged& usage) {
    if (!seen.emplace(usage.text()).second) {
      usage.duplicate();
    }
  });
  check_signer(spec["signerName"]);
  if (spec.number("expirationSeconds").value_or(kShortestSeconds) < kShortestSeconds) {
    spec["expirationSeconds"].invalid(
        "may not specify a duration less than 600 seconds (10 minutes)");
  }
}

void check_conditions(const Judged& status) {
  std::set<std::string, std::less<>> seen;
  status.each("conditions", [&](const Judged& condition) {
    const std::string_view type = condition.text("type");
    const bool final = type == "Approved" || type == "Denied" || type == "Failed";
    condition["type"].need_text();
    if (condition["status"].need_text()) {
      condition["status"].one_of(final ? std::vector<std::string>{"True"}
                                       : std::vector<std::string>{"True", "False", "Unknown"});
    }
    if ((type == "Approved" && seen.contains("Denied")) ||
        (type == "Denied" && seen.contains("Approved"))) {
      condition["type"].invalid("Approved and Denied conditions are mutually exclusive");
    }
    if (!seen.emplace(type).second) {
      condition["type"].duplicate();
    }
  });
}

std::size_t count_of(const Judged& status, std::string_view type) {
  std::size_t count = 0;
  status.each("conditions", [&](const Judged& one) { count += one.text("type") == type ? 1 : 0; });
  return count;
}

void check_changes(const Judged& was, const Judged& is, Subresource through) {
  const Judged conditions = is["conditions"];
  for (const std::string_view type : {"Approved", "Denied", "Failed"}) {
    if (count_of(is, type) < count_of(was, type)) {
      conditions.forbidden(
          fmt::format("updates may not remove a condition of type {}", quote(type)));
    }
  }
  for (const std::string_view type : {"Approved", "Denied"}) {
    if (through != Subresource::Approval && count_of(is, type) > count_of(was, type)) {
      conditions.forbidden(fmt::format("updates may not add a condition of type {}", quote(type)));
    }
  }
  if (!differ(was, is, "certificate")) {
    return;
  }
  if (through != Subresource::Status) {
    is["certificate"].forbidden("updates may not set certificate content");
  } else if (was.has("certificate")) {
    is["certificate"].forbidden("updates may not modify existing certificate content");
  }
}

/// The last condition of the type; nullptr if there is none.
const api::json::value* condition_of(const api::json::value& whole, std::string_view type) {
  const api::json::value* found = nullptr;
  const api::json::value* list = api::find_path(whole, "status.conditions");
  if (list != nullptr && list->is_array()) {
    for (const api::json::value& one : list->get_array()) {
      found = api::string_at(one, "type") == type ? &one : found;
    }
  }
  return found;
}

} // namespace

void complete_conditions(const api::Object& before, TimePoint now, object& document) {
  const std::string time = to_rfc3339(now);
  object* status = object_in(document, "status");
  if (group_kind(before) != kRequests || status == nullptr) {
    return;
  }
  each_in(*status, "conditions", [&](object& condition) {
    set_default(condition, "lastUpdateTime", api::json::value(time));
    const api::json::value* old = condition_of(before.json(), text_at(condition, "type"));
    const bool same =
        old != nullptr && api::string_at(*old, "status") == text_at(condition, "status");
    set_default(condition, "lastTransitionTime",
                api::json::value(same ? api::string_at(*old, "lastTransitionTime")
                                      : std::string_view(time)));
  });
}

void check_signing_request(const AdmissionRequest& request, const api::Object& object,
                           FieldErrors& errors) {
  if (request.kind != kRequests) {
    return;
  }
  const Judged whole(&object.json(), "", errors);
  if (request.before == nullptr) {
    check_spec(whole["spec"]);
    return;
  }
  check_conditions(whole["status"]);
  const Judged before(&request.before->json(), "", errors);
  check_changes(before["status"], whole["status"], request.subresource);
}

} // namespace berth::store
