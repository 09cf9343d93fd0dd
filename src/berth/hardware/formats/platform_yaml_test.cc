#include "berth/hardware/formats/platform_yaml.h"

#include <gtest/gtest.h>

namespace berth::hardware {
namespace {

TEST(PlatformYaml, EveryPlatformIsReadBackAsItWas) {
  for (const std::string& name : Catalogue::builtin().names()) {
    const Platform& p = *Catalogue::builtin().find(name);
    const auto read = Catalogue::parse_platform(platform_yaml(p), name + ".yaml");
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(platform_yaml(*read), platform_yaml(p));
    EXPECT_EQ(read->title, p.title);
    EXPECT_EQ(read->cpu_model.name, p.cpu_model.name);
    EXPECT_EQ(read->nvlinks, p.nvlinks);
    EXPECT_EQ(read->also_products, p.also_products);
    EXPECT_EQ(node_labels(*read), node_labels(p));
    EXPECT_EQ(node_document(*read, "n-1"), node_document(p, "n-1"));
  }
}

TEST(PlatformYaml, TextsMayHoldAnything) {
  for (const std::string title :
       {"yes", "null", "# no comment", "a: b", "- x", "1.5", "trailing ", " leading", "tab\there",
        "quote \" and \\", "ü {", "[x", "*alias", "!tag", "line\nbreak", "%d", "@"}) {
    Platform p = *Catalogue::builtin().find("t4-pcie-1");
    p.title = title;
    p.nics[0].name = title;
    const auto read = Catalogue::parse_platform(platform_yaml(p), "t4.yaml");
    ASSERT_TRUE(read) << title << ": " << to_string(read.error());
    EXPECT_EQ(read->title, title);
    EXPECT_EQ(read->nics[0].name, title);
  }
}

TEST(Catalogue, TakesOnePlatformMore) {
  Platform mine = *Catalogue::builtin().find("t4-pcie-1");
  EXPECT_FALSE(Catalogue::builtin().with(mine)) << "the name is taken";
  mine.name = "mine";
  const auto more = Catalogue::builtin().with(mine);
  ASSERT_TRUE(more);
  EXPECT_NE(more->find("mine"), nullptr);
  EXPECT_EQ(more->find("dgx-h100"), Catalogue::builtin().find("dgx-h100")) << "shared";
  EXPECT_EQ(Catalogue::builtin().find("mine"), nullptr);
}

} // namespace
} // namespace berth::hardware
