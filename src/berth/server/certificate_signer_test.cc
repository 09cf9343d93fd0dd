// Requests for certificates over the API: who is given one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/net/base64.h"
#include "berth/server/asking_fixture.h"

namespace berth::server {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A request for CN=a, signed by its key.
constexpr const char* kRequest =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIR01HNENBUUF3RERFS01BZ0dBMVVF"
    "QXd3QllUQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCRU45ZjFQdlB0dG0raFZKWW1m"
    "dDVGUkNTczRaS2xPNk1IdkM1NjVCS0VINWJTai9iam14c2FCUjlUUVpIWnNICmlNbFlmaDRYandtMHdm"
    "YTFROFhOR1p5Z0FEQUtCZ2dxaGtqT1BRUURBZ05JQURCRkFpRUF5SnQ3RlJ2R3hwMEYKeDFZN0VyUWNk"
    "MFlFMmhucVB1bzk1aTB6bzIvaURxc0NJRlNPQVhILzc4MHphRlhjeVBkcmdNaDJ6ZE1RYTNBbgo0TE9o"
    "Z3gzdHVoR2kKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";

class Signing : public Asking {
 protected:
  Signing() {
    server.reset();
    ApiServerOptions options;
    options.access.tokens.add(
        "admin", {.name = "admin", .uid = {}, .groups = {"system:masters"}, .extra = {}});
    options.authority = *net::make_authority({.common_name = "ca",
                                              .organizations = {},
                                              .names = {},
                                              .not_before = loop.now(),
                                              .not_after = loop.now() + Duration::hours(24)});
    server = *ApiServer::open(loop, registry, std::move(options));
  }

  /// The status of a request after it has been approved.
  api::json::value approved(std::string_view signer, std::string_view usages) {
    const std::string all = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const auto made = answer(
        "POST", all,
        fmt::format(R"({{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest",)"
                    R"("metadata":{{"name":"r"}},"spec":{{"request":"{}","signerName":"{}",)"
                    R"("usages":{}}}}})",
                    kRequest, signer, usages),
        "application/json");
    EXPECT_EQ(made.status, 201) << made.body;
    answer("PATCH", all + "/r/approval",
           R"({"status":{"conditions":[{"type":"Approved","status":"True","reason":"X"}]}})",
           "application/merge-patch+json");
    const auto found = api::parse_json(answer("GET", all + "/r", "", "application/json").body);
    return *api::find(*found, "status");
  }
};

TEST_F(Signing, GivesAClientItsCertificate) {
  const auto status = approved("kubernetes.io/kube-apiserver-client", R"(["client auth"])");
  const auto certificate = net::from_base64(api::string_at(status, "certificate"));
  ASSERT_TRUE(certificate) << api::to_json(status);
  EXPECT_THAT(*certificate, StartsWith("-----BEGIN CERTIFICATE-----"));
}

TEST_F(Signing, SaysWhyThereIsNone) {
  const auto status = approved("kubernetes.io/kube-apiserver-client", R"(["server auth"])");
  EXPECT_THAT(api::to_json(status),
              HasSubstr(R"("type":"Failed","status":"True","reason":"SignerValidationFailure",)"
                        R"("message":"invalid usage for client certificate: server auth")"));
}

TEST_F(Signing, LooksAtKubelets) {
  const auto status =
      approved("kubernetes.io/kubelet-serving", R"(["digital signature","server auth"])");
  EXPECT_THAT(api::to_json(status), HasSubstr("subject organization is not system:nodes"));
}

TEST_F(Signing, LeavesOtherSignersAlone) {
  const auto status = approved("example.com/mine", R"(["client auth"])");
  EXPECT_EQ(api::string_at(status, "certificate"), "");
  EXPECT_THAT(api::to_json(status), testing::Not(HasSubstr("Failed")));
}

} // namespace
} // namespace berth::server
