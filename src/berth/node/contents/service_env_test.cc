#include "berth/node/contents/service_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

api::Object service(std::string_view spec) {
  return api::Object::parse(R"({"apiVersion": "v1", "kind": "Service", "metadata": {"name": )"
                            R"("redis-primary", "namespace": "d"}, "spec": )" +
                            std::string(spec) + "}")
      .value();
}

TEST(ServiceEnv, HasTheFormsOfDockerLinks) {
  EXPECT_THAT(service_env({service(R"({"clusterIP": "10.0.0.11",
                  "ports": [{"name": "client", "port": 6379, "protocol": "TCP"}]})")}),
              UnorderedElementsAre(Pair("REDIS_PRIMARY_SERVICE_HOST", "10.0.0.11"),
                                   Pair("REDIS_PRIMARY_SERVICE_PORT", "6379"),
                                   Pair("REDIS_PRIMARY_SERVICE_PORT_CLIENT", "6379"),
                                   Pair("REDIS_PRIMARY_PORT", "tcp://10.0.0.11:6379"),
                                   Pair("REDIS_PRIMARY_PORT_6379_TCP", "tcp://10.0.0.11:6379"),
                                   Pair("REDIS_PRIMARY_PORT_6379_TCP_PROTO", "tcp"),
                                   Pair("REDIS_PRIMARY_PORT_6379_TCP_PORT", "6379"),
                                   Pair("REDIS_PRIMARY_PORT_6379_TCP_ADDR", "10.0.0.11")));
}

TEST(ServiceEnv, IPv6AddressesAreBracketed) {
  EXPECT_THAT(service_env({service(R"({"clusterIP": "fd00::1", "ports": [{"port": 1}]})")}),
              ::testing::Contains(Pair("REDIS_PRIMARY_PORT", "tcp://[fd00::1]:1")));
}

TEST(ServiceEnv, ServicesWithoutAnAddressHaveNone) {
  EXPECT_THAT(service_env({service(R"({"clusterIP": "None", "ports": [{"port": 1}]})"),
                           service(R"({"ports": [{"port": 1}]})"),
                           service(R"({"clusterIP": "10.0.0.1"})")}),
              IsEmpty());
}

} // namespace
} // namespace berth::node
