#include "berth/server/certificate_signer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/base/log.h"
#include "berth/net/base64.h"
#include "berth/net/signing_request.h"

namespace berth::server {
namespace {

namespace json = boost::json;
using Words = std::vector<std::string>;

const store::GroupKind kRequests{"certificates.k8s.io", "CertificateSigningRequest"};
constexpr std::int64_t kYear = std::int64_t{365} * 24 * 3600;
constexpr std::int64_t kEarlier = 300; ///< seconds: clocks differ

bool has_condition(const api::Object& request, std::string_view type) {
  const json::value* list = api::find_path(request.json(), "status.conditions");
  return list != nullptr && list->is_array() &&
         std::ranges::any_of(list->get_array(), [&](const json::value& one) {
           return api::string_at(one, "type") == type;
         });
}

bool is_to_be_signed(const api::Object& request) {
  const std::string_view signer = api::string_at(request.json(), "spec.signerName");
  return (signer == "kubernetes.io/kube-apiserver-client" ||
          signer == "kubernetes.io/kube-apiserver-client-kubelet" ||
          signer == "kubernetes.io/kubelet-serving") &&
         has_condition(request, "Approved") && !has_condition(request, "Denied") &&
         !has_condition(request, "Failed") &&
         api::string_at(request.json(), "status.certificate").empty();
}

Words usages_of(const api::Object& request) {
  Words out;
  const json::value* list = api::find_path(request.json(), "spec.usages");
  if (list != nullptr && list->is_array()) {
    for (const json::value& one : list->get_array()) {
      out.emplace_back(one.is_string() ? std::string_view(one.get_string()) : "");
    }
  }
  return out;
}

/// What is wrong with the usages of a client's certificate; "" if nothing is.
std::string wrong_client(const Words& usages) {
  bool is_client = false;
  for (const std::string& usage : usages) {
    is_client = is_client || usage == "client auth";
    if (usage != "client auth" && usage != "digital signature" && usage != "key encipherment") {
      return "invalid usage for client certificate: " + usage;
    }
  }
  return is_client ? "" : "missing required usage for client certificate: client auth";
}

/// What is wrong with a kubelet's; "" if nothing is. `auth`: "server auth" or "client auth".
std::string wrong_kubelet(const net::RequestedSubject& subject, Words usages,
                          std::string_view auth) {
  const bool serves = auth == "server auth";
  if (subject.organizations != Words{"system:nodes"}) {
    return "subject organization is not system:nodes";
  }
  if (serves && subject.dns_names.empty() && subject.addresses.empty()) {
    return "DNS or IP subjectAltName is required";
  }
  if (!serves && !subject.dns_names.empty()) {
    return "DNS subjectAltNames are not allowed";
  }
  if (!subject.emails.empty()) {
    return "Email subjectAltNames are not allowed";
  }
  if (!serves && !subject.addresses.empty()) {
    return "IP subjectAltNames are not allowed";
  }
  if (!subject.uris.empty()) {
    return "URI subjectAltNames are not allowed";
  }
  if (!subject.common_name.starts_with("system:node:")) {
    return "subject common name does not begin with system:node:";
  }
  std::erase(usages, "key encipherment"); // RSA keys need it, others do not
  std::ranges::sort(usages);
  Words wanted = {std::string(auth), "digital signature"};
  std::ranges::sort(wanted);
  return usages == wanted ? "" : fmt::format("usages did not match [{}]", fmt::join(wanted, " "));
}

std::string wrong_with(const api::Object& request, const net::RequestedSubject& subject) {
  const std::string_view signer = api::string_at(request.json(), "spec.signerName");
  return signer.ends_with("client-kubelet")
             ? wrong_kubelet(subject, usages_of(request), "client auth")
         : signer.ends_with("kubelet-serving")
             ? wrong_kubelet(subject, usages_of(request), "server auth")
             : wrong_client(usages_of(request));
}

std::int64_t seconds_of(const api::Object& request) {
  const json::value* wanted = api::find_path(request.json(), "spec.expirationSeconds");
  return wanted != nullptr && wanted->is_int64() ? std::min(wanted->get_int64(), kYear) : kYear;
}

} // namespace

struct CertificateSigner::State : std::enable_shared_from_this<CertificateSigner::State> {
  Loop* loop;
  store::Registry* registry;
  net::KeyPair authority;
  std::unique_ptr<store::Subscription> subscription;

  State(Loop& on, store::Registry& of, net::KeyPair with)
      : loop(&on), registry(&of), authority(std::move(with)) {}

  Result<void> follow() {
    store::WatchOptions options;
    options.what.kind = kRequests;
    options.bookmarks = false;
    BERTH_TRY(subscription, registry->watch(options, [this](const store::WatchEvent& event) {
      if (event.type != store::WatchEvent::Type::Deleted && is_to_be_signed(event.object)) {
        loop->post([self = weak_from_this(), name = event.object.meta().name] {
          if (const auto state = self.lock()) {
            state->answer(name);
          }
        });
      }
    }));
    return {};
  }

  /// The request as it is now: others may have come before.
  void answer(const std::string& name) {
    const auto request = registry->get(kRequests, {"", name});
    if (!request || !is_to_be_signed(*request)) {
      return;
    }
    const std::string pem =
        net::from_base64(api::string_at(request->json(), "spec.request")).value_or("");
    const auto subject = net::read_request(pem);
    const std::string wrong = subject ? wrong_with(*request, *subject) : subject.error().message;
    if (!wrong.empty()) {
      write(*request, [&](json::object& status) { fail_with(status, wrong); });
      return;
    }
    const TimePoint now = loop->now();
    const auto certificate = net::sign_request(
        authority, pem,
        {.not_before = TimePoint::from_unix_seconds(now.unix_seconds() - kEarlier),
         .not_after = TimePoint::from_unix_seconds(now.unix_seconds() + seconds_of(*request)),
         .usages = usages_of(*request)});
    if (!certificate) {
      log(LogLevel::Warn, "signer", to_string(certificate.error()));
      return;
    }
    write(*request,
          [&](json::object& status) { status["certificate"] = net::to_base64(*certificate); });
  }

  void fail_with(json::object& status, const std::string& why) const {
    const std::string time = to_rfc3339(loop->now());
    json::value& list = status["conditions"];
    (list.is_array() ? list.get_array() : list.emplace_array())
        .push_back(json::object{{"type", "Failed"},
                                {"status", "True"},
                                {"reason", "SignerValidationFailure"},
                                {"message", why},
                                {"lastUpdateTime", time},
                                {"lastTransitionTime", time}});
  }

  template <class F> void write(const api::Object& request, const F& change) {
    const api::Object next =
        request.edit([&](json::object& document) { change(api::object_at(document, "status")); });
    const auto written = registry->update(next, store::Subresource::Status, loop->now(),
                                          {.admit = registry->components()});
    if (!written && written.error().code != Code::Conflict) {
      log(LogLevel::Warn, "signer", to_string(written.error()));
    }
  }
};

Result<std::unique_ptr<CertificateSigner>>
CertificateSigner::open(Loop& loop, store::Registry& registry, net::KeyPair authority) {
  auto state = std::make_shared<State>(loop, registry, std::move(authority));
  BERTH_CHECK(state->follow());
  return std::unique_ptr<CertificateSigner>(new CertificateSigner(std::move(state)));
}

CertificateSigner::CertificateSigner(std::shared_ptr<State> state) : state_(std::move(state)) {}
CertificateSigner::~CertificateSigner() = default;

} // namespace berth::server
