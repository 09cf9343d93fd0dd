#include "berth/server/live_streams.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::server {
namespace {

class Wire final : public net::HttpStream {
 public:
  void send(std::string_view bytes) override { text += bytes; }
  void end() override { ++ends; }
  std::size_t waiting() const override { return text.size(); }
  void on_gone(std::function<void()> gone) override { on_gone_ = std::move(gone); }

  std::string text;
  int ends = 0;

 private:
  std::function<void()> on_gone_;
};

class LiveStreamsTest : public testing::Test {
 protected:
  /// A writer that lets go of its stream when its reader is gone.
  void begin() {
    net::HttpResponse response;
    response.stream = [this](std::shared_ptr<net::HttpStream> stream) {
      writer = std::move(stream);
      writer->on_gone([this] { writer = nullptr; });
    };
    streams.take(
        response, [this] { ++began; }, [this] { ++ended; });
    response.stream(wire);
  }

  LiveStreams streams;
  std::shared_ptr<Wire> wire = std::make_shared<Wire>();
  std::shared_ptr<net::HttpStream> writer;
  int began = 0;
  int ended = 0;
};

TEST_F(LiveStreamsTest, AreCountedWhileTheyAreUsed) {
  begin();
  EXPECT_EQ(streams.count(), 1U);
  EXPECT_EQ(began, 1);
  writer->send("a");
  EXPECT_EQ(wire->text, "a");
  EXPECT_EQ(writer->waiting(), 1U);
  writer->end();
  EXPECT_EQ(wire->ends, 1);
  EXPECT_EQ(ended, 0);
  writer = nullptr;
  EXPECT_EQ(streams.count(), 0U);
  EXPECT_EQ(ended, 1);
}

TEST_F(LiveStreamsTest, EndTogether) {
  begin();
  const auto held = writer; // a piece that is still on its way
  streams.end_all();
  EXPECT_EQ(wire->ends, 1);
  EXPECT_EQ(writer, nullptr) << "its writer was told";
  held->send("late");
  held->end();
  EXPECT_EQ(wire->text, "");
  EXPECT_EQ(wire->ends, 1);
  streams.end_all();
}

TEST_F(LiveStreamsTest, MayOutliveTheServer) {
  auto own = std::make_unique<LiveStreams>();
  net::HttpResponse response;
  response.stream = [this](std::shared_ptr<net::HttpStream> stream) { writer = std::move(stream); };
  own->take(
      response, [] {}, [this] { ++ended; });
  response.stream(wire);
  own = nullptr;
  writer->send("x");
  writer = nullptr;
  EXPECT_EQ(wire->text, "x");
}

} // namespace
} // namespace berth::server
