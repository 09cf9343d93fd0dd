#include "berth/deviceplugin/registration_notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/deviceplugin/plugin_fixture.h"

namespace berth::deviceplugin {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// The plugins of a node, with what people are told of their registration.
class Notice : public test::Plugin {
 protected:
  Notice() {
    options_.on_registered = [this](const std::string& resource) { notice_.registered(resource); };
  }
  void begin(bool listening) {
    set_ = std::make_unique<PluginSet>(place(), options_);
    notice_.begin([this] { return set_->resources(); }, listening);
  }

  std::vector<std::string> notes_;
  std::vector<std::string> warnings_;
  RegistrationNotice notice_{loop_, "/k",
                             [this](const std::string& line) { notes_.push_back(line); },
                             [this](const std::string& line) { warnings_.push_back(line); }};
};

TEST_F(Notice, EachRegistrationIsALine) {
  auto listening = socket_.listen(kubelet_).value();
  begin(true);
  run(Duration::minutes(1));
  EXPECT_THAT(notes_, ElementsAre("the kubelet has taken nvidia.com/gpu"));
  listening = socket_.listen(kubelet_).value();
  run();
  EXPECT_EQ(notes_.size(), 2U) << "a kubelet that starts again takes it again";
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(Notice, AKubeletThatIsNotThereIsWaitedForAndWarnedOfOnce) {
  begin(false);
  EXPECT_THAT(notes_, ElementsAre("waiting for kubelet.sock in /k"));
  run(kKubeletAnswers - Duration::millis(1));
  EXPECT_THAT(warnings_, IsEmpty());
  run(Duration::minutes(10));
  EXPECT_THAT(warnings_, ElementsAre("no kubelet has taken nvidia.com/gpu for 10 seconds; is one "
                                     "running, and is /k its directory?"));
  const auto listening = socket_.listen(kubelet_).value();
  run();
  EXPECT_THAT(notes_, ElementsAre(StartsWith("waiting"), "the kubelet has taken nvidia.com/gpu"));
}

TEST_F(Notice, ARefusalIsNoRegistration) {
  const auto listening = socket_.listen(kubelet_).value();
  kubelet_.answer = fail(Code::Invalid, "no");
  begin(true);
  run(Duration::minutes(1));
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_THAT(warnings_, ElementsAre(StartsWith("no kubelet has taken nvidia.com/gpu")));
}

class Advertised : public test::Plugin {
 protected:
  std::string text() {
    start();
    return advertised_text(*set_, inventory_.gpus().size());
  }
  static SharedResources shared(int replicas) {
    return {.resources = {{.name = "nvidia.com/gpu", .replicas = replicas}}};
  }
};

TEST_F(Advertised, NamesTheResources) {
  EXPECT_EQ(text(), "8 GPUs as nvidia.com/gpu");
}

TEST_F(Advertised, CountsWhatSharingMakes) {
  options_.config.sharing.time_slicing = shared(10);
  EXPECT_EQ(text(), "8 GPUs as nvidia.com/gpu (80 by time slicing)");
}

TEST_F(Advertised, SaysWhatHasNoDevices) {
  options_.config.flags.mps_root = "/mps";
  options_.config.sharing.mps = shared(49);
  EXPECT_EQ(text(), "8 GPUs as nvidia.com/gpu (no devices)");
}

TEST_F(Advertised, SaysWhenThereIsNothingYet) {
  specs_.full = true;
  EXPECT_EQ(text(), "8 GPUs, none advertised yet");
}

} // namespace
} // namespace berth::deviceplugin
