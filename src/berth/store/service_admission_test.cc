#include "berth/store/service_admission.h"

#include "berth/store/admission_fixture.h"

namespace berth::store {
namespace {

class ServiceAdmission : public AdmissionTest {
 protected:
  std::string target_of(std::string_view port) {
    return made(parsed(fmt::format(R"({{"apiVersion":"v1","kind":"Service","metadata":{{"name":)"
                                   R"("s"}},"spec":{{"clusterIP":"None","ports":[{}]}}}})",
                                   port)),
                "spec.ports");
  }
};

TEST_F(ServiceAdmission, ATargetPortThatIsNoneIsThePort) {
  for (const char* port :
       {R"({"port":80})", R"({"port":80,"targetPort":0})", R"({"port":80,"targetPort":""})"}) {
    (void)registry.remove({"", "Service"}, {"default", "s"}, {}, now);
    EXPECT_THAT(target_of(port), ::testing::HasSubstr(R"("targetPort":80)")) << port;
  }
}

TEST_F(ServiceAdmission, AGivenTargetPortStays) {
  EXPECT_THAT(target_of(R"({"port":80,"targetPort":"http"})"),
              ::testing::HasSubstr(R"("targetPort":"http")"));
}

} // namespace
} // namespace berth::store
