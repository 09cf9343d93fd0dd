// Parts of objects that are read and written by themselves, over the API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/asking_fixture.h"

namespace berth::server {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Parts : public Asking {
 protected:
  /// "STATUS BODY".
  std::string ask(const std::string& method, const std::string& target, std::string body = {},
                  std::string type = "application/json") {
    const net::HttpResponse given = answer(method, target, std::move(body), type);
    return fmt::format("{} {}", given.status, given.body);
  }

  static constexpr const char* kStrategic = "application/strategic-merge-patch+json";
  static constexpr const char* kMerge = "application/merge-patch+json";
};

TEST_F(Parts, OfAPod) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  ASSERT_THAT(ask("POST", pods,
                  R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{)"
                  R"("containers":[{"name":"c","image":"x","resources":{"requests":{)"
                  R"("cpu":"1"}}}]}})"),
              StartsWith("201"));
  EXPECT_THAT(ask("GET", pods + "/p/resize"), StartsWith("200"));
  EXPECT_THAT(ask("PATCH", pods + "/p/resize",
                  R"({"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c",)"
                  R"("resources":{"requests":{"cpu":"2"}}}]}})",
                  kStrategic),
              AllOf(StartsWith("200"), HasSubstr(R"("requests":{"cpu":"2"})"),
                    HasSubstr(R"("subresource":"resize")"), Not(HasSubstr(R"("labels")"))));
  EXPECT_THAT(ask("PATCH", pods + "/p/ephemeralcontainers",
                  R"({"spec":{"ephemeralContainers":[{"name":"e","image":"busybox"}]}})",
                  kStrategic),
              AllOf(StartsWith("200"), HasSubstr(R"("subresource":"ephemeralcontainers")")));
  EXPECT_THAT(ask("PATCH", pods + "/p",
                  R"({"spec":{"ephemeralContainers":[{"name":"f","image":"busybox"}]}})",
                  kStrategic),
              HasSubstr("pod updates may not change fields other than"));
}

// A request for CN=a, signed by its key.
constexpr const char* kRequest =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIR01HNENBUUF3RERFS01BZ0dBMVVF"
    "QXd3QllUQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCRU45ZjFQdlB0dG0raFZKWW1m"
    "dDVGUkNTczRaS2xPNk1IdkM1NjVCS0VINWJTai9iam14c2FCUjlUUVpIWnNICmlNbFlmaDRYandtMHdm"
    "YTFROFhOR1p5Z0FEQUtCZ2dxaGtqT1BRUURBZ05JQURCRkFpRUF5SnQ3RlJ2R3hwMEYKeDFZN0VyUWNk"
    "MFlFMmhucVB1bzk1aTB6bzIvaURxc0NJRlNPQVhILzc4MHphRlhjeVBkcmdNaDJ6ZE1RYTNBbgo0TE9o"
    "Z3gzdHVoR2kKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";

TEST_F(Parts, OfASigningRequest) {
  const std::string requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  ASSERT_THAT(
      ask("POST", requests,
          fmt::format(R"({{"apiVersion":"certificates.k8s.io/v1","kind":)"
                      R"("CertificateSigningRequest","metadata":{{"name":"r"}},"spec":{{)"
                      R"("request":"{}","signerName":"example.com/s","usages":["client auth"],)"
                      R"("username":"somebody"}}}})",
                      kRequest)),
      AllOf(StartsWith("201"), HasSubstr(R"("username":"admin")")));
  const std::string approved =
      R"({"status":{"conditions":[{"type":"Approved","status":"True","reason":"r"}]}})";
  EXPECT_THAT(ask("PATCH", requests + "/r/status", approved, kMerge),
              HasSubstr("updates may not add a condition of type"));
  EXPECT_THAT(ask("PATCH", requests + "/r/approval", approved, kMerge),
              AllOf(StartsWith("200"), HasSubstr(R"("lastUpdateTime":"2023-)")));
  EXPECT_THAT(ask("PATCH", requests + "/r/approval", R"({"status":{"conditions":null}})", kMerge),
              HasSubstr("updates may not remove a condition of type"));
}

} // namespace
} // namespace berth::server
