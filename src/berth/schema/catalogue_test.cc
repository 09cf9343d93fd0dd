#include "berth/schema/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::schema {
namespace {

using ::testing::ElementsAre;
using ::testing::NotNull;

const Catalogue& known() {
  return Catalogue::builtin();
}

const Type& at(const Type& type, std::string_view field) {
  const Field* found = type.field(field);
  EXPECT_THAT(found, NotNull()) << type.name << "." << field;
  return *found->type;
}

TEST(Catalogue, ServesPodsAsKubernetesDoes) {
  const Resource* pods = known().resource("", "v1", "pods");
  ASSERT_THAT(pods, NotNull());
  EXPECT_EQ(pods->kind, "Pod");
  EXPECT_EQ(pods->list_kind, "PodList");
  EXPECT_TRUE(pods->namespaced());
  EXPECT_THAT(pods->short_names, ElementsAre("po"));
  EXPECT_EQ(pods->deprecation, "");
  EXPECT_THAT(pods->categories, ElementsAre("all"));
  EXPECT_TRUE(pods->can("deletecollection"));
  ASSERT_THAT(pods->subresource("eviction"), NotNull());
  EXPECT_EQ(pods->subresource("eviction")->kind,
            (api::GroupVersionKind{"policy", "v1", "Eviction"}));
  EXPECT_THAT(pods->subresource("binding")->verbs, ElementsAre("create"));
  EXPECT_EQ(pods->subresource("status")->kind, pods->gvk());
  EXPECT_EQ(pods->subresource("scale"), nullptr);
}

TEST(Catalogue, TellsClusterScopedFromNamespaced) {
  EXPECT_EQ(known().resource("", "v1", "nodes")->scope, api::Scope::Cluster);
  EXPECT_EQ(known().resource("apps", "v1", "deployments")->scope, api::Scope::Namespaced);
  EXPECT_EQ(known().resource("apps", "v2", "deployments"), nullptr);
}

TEST(Catalogue, FindsTypesThatStandInBodiesAlone) {
  for (const api::GroupVersionKind& gvk : {api::GroupVersionKind{"", "v1", "Status"},
                                           {"policy", "v1", "Eviction"},
                                           {"autoscaling", "v1", "Scale"},
                                           {"authentication.k8s.io", "v1", "TokenRequest"},
                                           {"", "v1", "PodList"},
                                           {"batch", "v1", "DeleteOptions"}}) {
    EXPECT_TRUE(known().type(gvk)) << gvk.api_version() << " " << gvk.kind;
  }
  EXPECT_FALSE(known().type({"", "v1", "PodSpec"}));
  EXPECT_FALSE(known().type({"apps", "v1", "Pod"}));
}

TEST(Catalogue, KnowsWhatTheModelsDoNotSay) {
  const TypePtr pod = known().type({"", "v1", "Pod"});
  const Type& spec = at(*pod, "spec");
  const Type& containers = at(spec, "containers");
  EXPECT_EQ(containers.form, Form::List);
  EXPECT_EQ(containers.list, ListKind::Map);
  EXPECT_THAT(containers.list_keys, ElementsAre("name"));
  EXPECT_TRUE(containers.merges);
  EXPECT_EQ(containers.merge_key, "name");
  EXPECT_TRUE(spec.field("containers")->required);
  const Type& ports = at(*containers.element, "ports");
  EXPECT_THAT(ports.list_keys, ElementsAre("containerPort", "protocol"));
  EXPECT_EQ(at(*ports.element, "protocol").default_value, boost::json::value("TCP"));
  EXPECT_TRUE(at(spec, "volumes").retain_keys);
  EXPECT_TRUE(at(spec, "nodeSelector").atomic);
  EXPECT_EQ(at(at(*containers.element, "resources"), "limits").element->form, Form::Quantity);
  EXPECT_EQ(at(at(*pod, "metadata"), "finalizers").list, ListKind::Set);
  const TypePtr deployment = known().type({"apps", "v1", "Deployment"});
  const Type& strategy = at(at(*deployment, "spec"), "strategy");
  EXPECT_TRUE(strategy.retain_keys);
  EXPECT_EQ(at(at(strategy, "rollingUpdate"), "maxSurge").form, Form::IntOrString);
}

TEST(Catalogue, EveryServedKindHasMetadataAndSortedFields) {
  for (const Type* type : known().types()) {
    EXPECT_TRUE(std::ranges::is_sorted(type->fields, {}, &Field::name)) << type->name;
    for (const Field& field : type->fields) {
      EXPECT_THAT(field.type, NotNull()) << type->name << "." << field.name;
    }
  }
  for (const Resource& resource : known().resources()) {
    EXPECT_THAT(resource.type->field("metadata"), NotNull()) << resource.plural;
    EXPECT_TRUE(resource.list_kind.empty() ||
                known().type({resource.group, resource.version, resource.list_kind}))
        << resource.list_kind;
  }
}

TEST(Catalogue, RefusesWordsThatItDoesNotKnow) {
  const auto parsed =
      Catalogue::parse(R"({"version":"1","packages":{"p":["","v1"]},"resources":[],)"
                       R"("types":{"p.A":["","",[["a","d","string stirred",""]]]}})");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "bundle of built-in types: p.A.a: unknown: stirred");
}

} // namespace
} // namespace berth::schema
