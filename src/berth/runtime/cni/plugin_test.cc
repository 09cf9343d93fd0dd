#include "berth/runtime/cni/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"

namespace berth::runtime::cni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Plugin : public testing::Test {
 protected:
  PluginAnswer ask(PluginCall call) {
    return answer(call, {.bring_up = [this](const std::string& netns) -> Result<void> {
                           raised.push_back(netns);
                           return trouble;
                         },
                         .is_up = [this](const std::string&) -> Result<bool> {
                           return trouble ? Result<bool>(up) : tl::unexpected(trouble.error());
                         }});
  }
  static PluginCall call(const std::string& command, const std::string& version = "0.4.0",
                         const std::string& ifname = "eth0") {
    return {.command = command,
            .container_id = "c1",
            .netns = "/run/netns/x",
            .ifname = ifname,
            .config = R"({"cniVersion": ")" + version + R"(", "name": "n", "type": "t"})"};
  }
  static std::string at(const PluginAnswer& answer, std::string_view path) {
    const auto document = api::parse_json(answer.out);
    const api::json::value* found = document ? api::find_path(*document, path) : nullptr;
    return !found               ? "absent"
           : found->is_string() ? std::string(found->get_string())
                                : api::to_json(*found);
  }

  std::vector<std::string> raised;
  Result<void> trouble;
  bool up = true;
};

struct Form {
  std::string version;
  std::string want;
};
class Versions : public Plugin, public testing::WithParamInterface<Form> {};
TEST_P(Versions, EachHasItsOwnFormOfAResult) {
  const PluginAnswer got = ask(call("ADD", GetParam().version));
  EXPECT_EQ(got.exit_code, 0);
  EXPECT_EQ(got.out, R"({"cniVersion":")" + GetParam().version + R"(",)" + GetParam().want + "\n");
  EXPECT_THAT(raised, ElementsAre("/run/netns/x"));
}
const std::string kOld = R"("ip4":{"ip":"127.0.0.1/8"},"dns":{}})";
const std::string kMiddle = R"("interfaces":[{"name":"eth0","sandbox":"/run/netns/x"}],)"
                            R"("ips":[{"interface":0,"address":"127.0.0.1/8","version":"4"}],)"
                            R"("dns":{}})";
const std::string kNew = R"("interfaces":[{"name":"eth0","sandbox":"/run/netns/x"}],)"
                         R"("ips":[{"interface":0,"address":"127.0.0.1/8"}],"dns":{}})";
INSTANTIATE_TEST_SUITE_P(Of, Versions,
                         testing::Values(Form{"0.1.0", kOld}, Form{"0.2.0", kOld},
                                         Form{"0.3.0", kMiddle}, Form{"0.3.1", kMiddle},
                                         Form{"0.4.0", kMiddle}, Form{"1.0.0", kNew},
                                         Form{"1.1.0", kNew}),
                         [](const auto& each) {
                           std::string name = "V" + each.param.version;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

TEST_F(Plugin, AConfigurationWithoutAVersionIsTheOldest) {
  PluginCall asked = call("ADD");
  asked.config = "{}";
  EXPECT_EQ(at(ask(asked), "cniVersion"), "0.1.0");
}

TEST_F(Plugin, LoItselfHasNoRealAddressOfItsHardware) {
  EXPECT_EQ(at(ask(call("ADD", "1.0.0", "lo")), "interfaces"),
            R"([{"name":"lo","sandbox":"/run/netns/x","mac":"00:00:00:00:00:00"}])");
}

TEST_F(Plugin, WhatThePluginBeforeItSaidIsHandedOn) {
  PluginCall asked = call("ADD");
  asked.config = R"({"cniVersion": "0.4.0", "prevResult": {"cniVersion": "0.4.0", "ips": []}})";
  EXPECT_EQ(ask(asked).out, "{\"cniVersion\":\"0.4.0\",\"ips\":[]}\n");
  EXPECT_THAT(raised, ElementsAre("/run/netns/x"));
}

TEST_F(Plugin, ADeviceThatDoesNotComeUpIsAnError) {
  trouble = fail(Code::Forbidden, "cannot enter");
  const PluginAnswer got = ask(call("ADD", "1.0.0"));
  EXPECT_EQ(got.exit_code, 1);
  EXPECT_EQ(at(got, "cniVersion"), "1.0.0");
  EXPECT_EQ(at(got, "code"), "5");
  EXPECT_EQ(at(got, "msg"), "the loopback device cannot be brought up");
  EXPECT_EQ(at(got, "details"), "cannot enter");
}

TEST_F(Plugin, CheckLooksAndDoesNothing) {
  EXPECT_EQ(ask(call("CHECK")).out, "");
  up = false;
  EXPECT_EQ(at(ask(call("CHECK")), "code"), "100");
  trouble = fail(Code::NotFound, "no namespace");
  EXPECT_EQ(at(ask(call("CHECK")), "code"), "5");
  EXPECT_THAT(raised, IsEmpty());
}

TEST_F(Plugin, DelHasNothingToDoAndAsOftenAsWanted) {
  PluginCall gone = call("DEL");
  gone.netns = "";
  for (int i = 0; i < 2; ++i) {
    const PluginAnswer got = ask(gone);
    EXPECT_EQ(got.exit_code, 0);
    EXPECT_EQ(got.out, "");
  }
  EXPECT_THAT(raised, IsEmpty());
}

TEST_F(Plugin, QuestionsAboutItNeedNoContainer) {
  for (const std::string command : {"GC", "STATUS"}) {
    const PluginAnswer got = ask({.command = command, .config = R"({"cniVersion": "1.1.0"})"});
    EXPECT_EQ(got.exit_code, 0) << command;
    EXPECT_EQ(got.out, "") << command;
  }
  const PluginAnswer versions = ask({.command = "VERSION", .config = R"({"cniVersion": "1.0.0"})"});
  EXPECT_EQ(versions.out, R"({"cniVersion":"1.0.0","supportedVersions":)"
                          R"(["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]})"
                          "\n");
  EXPECT_EQ(ask({.command = "VERSION"}).exit_code, 0);
}

struct Refusal {
  std::string name;
  PluginCall call;
  std::string code;
  std::string what;
};
class Refusals : public Plugin, public testing::WithParamInterface<Refusal> {};
TEST_P(Refusals, SayWhatIsWrong) {
  const PluginAnswer got = ask(GetParam().call);
  EXPECT_EQ(got.exit_code, 1);
  EXPECT_EQ(at(got, "code"), GetParam().code);
  EXPECT_THAT(got.out, HasSubstr(GetParam().what));
  EXPECT_THAT(raised, IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(
    Of, Refusals,
    testing::Values(Refusal{"NoCommand", {}, "4", "unknown CNI_COMMAND"},
                    Refusal{"AnotherCommand", {.command = "FIX"}, "4", "unknown CNI_COMMAND: FIX"},
                    Refusal{
                        "AddWithoutAnything",
                        {.command = "ADD"},
                        "4",
                        "required env variables [CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME] missing"},
                    Refusal{"DelWithoutInterface",
                            {.command = "DEL", .container_id = "c"},
                            "4",
                            "[CNI_IFNAME] missing"},
                    Refusal{"NoJson", {.command = "VERSION", .config = "{"}, "6", "is no object"},
                    Refusal{"AnotherVersion",
                            {.command = "STATUS", .config = R"({"cniVersion": "9.0.0"})"},
                            "1",
                            R"(config is \"9.0.0\", plugin supports 0.1.0)"}),
    [](const auto& each) { return each.param.name; });

} // namespace
} // namespace berth::runtime::cni
