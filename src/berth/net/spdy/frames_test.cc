#include "berth/net/spdy/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "berth/base/rng.h"
#include "berth/net/spdy/dictionary.h"
#include "berth/net/spdy/numbers.h"
#include "berth/testing/seeds.h"

namespace berth::net::spdy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::vector<Frame> read_all(FrameReader& reader) {
  std::vector<Frame> frames;
  while (true) {
    auto frame = reader.next();
    EXPECT_TRUE(frame.has_value());
    if (!frame || !*frame) {
      return frames;
    }
    frames.push_back(**std::move(frame));
  }
}

std::string refusal(std::string_view bytes, std::size_t max_bytes = 1024) {
  FrameReader reader(max_bytes);
  reader.feed(bytes);
  while (true) {
    const auto frame = reader.next();
    if (!frame) {
      return frame.error().message;
    }
    if (!*frame) {
      return "";
    }
  }
}

TEST(SpdyFrames, TheDictionaryIsTheProtocols) {
  const std::string& whole = header_dictionary();
  EXPECT_EQ(whole.size(), 1423U);
  EXPECT_EQ(adler32(adler32(0, nullptr, 0), reinterpret_cast<const Bytef*>(whole.data()),
                    static_cast<uInt>(whole.size())),
            0xE3C6A7C2U);
}

TEST(SpdyFrames, HeadersArePackedOverAllFrames) {
  FrameWriter writer;
  FrameReader reader;
  reader.feed(writer.syn_stream(1, {{"streamType", "error"}}));
  reader.feed(writer.syn_stream(3, {{"streamType", "stdin"}, {"port", "80"}}));
  reader.feed(writer.syn_reply(3, {}));
  const auto frames = read_all(reader);
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].type, Frame::Type::SynStream);
  EXPECT_EQ(frames[0].stream, 1U);
  EXPECT_THAT(frames[0].headers, ElementsAre(Pair("streamtype", "error")));
  EXPECT_THAT(frames[1].headers, ElementsAre(Pair("streamtype", "stdin"), Pair("port", "80")));
  EXPECT_EQ(frames[2].type, Frame::Type::SynReply);
  EXPECT_TRUE(frames[2].headers.empty());
}

TEST(SpdyFrames, AStreamEndsWithItsLastData) {
  FrameReader reader;
  reader.feed(FrameWriter::data(5, "some", Fin::No) + FrameWriter::data(5, "", Fin::Yes) +
              FrameWriter::rst_stream(7, 5) + FrameWriter::ping(2) + FrameWriter::go_away(7));
  const auto frames = read_all(reader);
  ASSERT_EQ(frames.size(), 5U);
  EXPECT_EQ(frames[0].data, "some");
  EXPECT_FALSE(frames[0].fin);
  EXPECT_TRUE(frames[1].fin);
  EXPECT_EQ(frames[2].type, Frame::Type::RstStream);
  EXPECT_EQ(frames[2].status, 5U);
  EXPECT_EQ(frames[3].type, Frame::Type::Ping);
  EXPECT_EQ(frames[3].stream, 2U);
  EXPECT_EQ(frames[4].type, Frame::Type::GoAway);
}

TEST(SpdyFrames, MuchDataComesInSeveralFrames) {
  const std::string much(100'000, 'x');
  FrameReader reader;
  reader.feed(FrameWriter::data(1, much, Fin::Yes));
  std::string got;
  const auto frames = read_all(reader);
  for (const Frame& frame : frames) {
    got += frame.data;
  }
  EXPECT_EQ(got, much);
  ASSERT_GT(frames.size(), 1U);
  EXPECT_TRUE(frames.back().fin);
  EXPECT_FALSE(frames.front().fin);
}

TEST(SpdyFrames, WhatIsNoSpdyIsRefused) {
  EXPECT_THAT(refusal("HTTP/1.1 400 Bad Request\r\n\r\n"), HasSubstr("too large"));
  EXPECT_THAT(refusal(std::string("\x80\x02\x00\x01\x00\x00\x00\x00", 8)),
              HasSubstr("another version"));
  EXPECT_THAT(refusal(std::string("\x80\x03\x00\x01\x00\x00\x00\x02xx", 10)),
              HasSubstr("too short"));
  EXPECT_THAT(refusal(std::string("\x80\x03\x00\x02\x00\x00\x00\x08\x00\x00\x00\x01nope", 16)),
              HasSubstr("cannot be unpacked"));
  FrameWriter writer;
  EXPECT_THAT(refusal(writer.syn_stream(1, {{"a", std::string(100'000, 'a')}})),
              HasSubstr("headers are too large"));
  EXPECT_EQ(refusal("\x80"), "") << "more may come";
}

class SpdyPieces : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SpdyPieces, AreReadAsTheyComeOrAtOnce) {
  Rng rng(GetParam());
  FrameWriter writer;
  std::string bytes;
  for (int i = 0; i < 20; ++i) {
    const auto stream = static_cast<StreamId>(2 * rng.below(8) + 1);
    const std::string text(rng.below(70), static_cast<char>('a' + rng.below(26)));
    switch (rng.below(3)) {
    case 0:
      bytes += writer.syn_stream(stream, {{"streamType", text}});
      break;
    case 1:
      bytes += FrameWriter::data(stream, text, rng.below(2) == 0 ? Fin::No : Fin::Yes);
      break;
    default:
      bytes += FrameWriter::rst_stream(stream, 5);
    }
  }
  FrameReader at_once;
  at_once.feed(bytes);
  const auto expected = read_all(at_once);
  ASSERT_EQ(expected.size(), 20U);
  FrameReader in_pieces;
  std::vector<Frame> got;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = 1 + rng.below(40);
    in_pieces.feed(std::string_view(bytes).substr(at, size));
    at += size;
    for (Frame& frame : read_all(in_pieces)) {
      got.push_back(std::move(frame));
    }
  }
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].type, expected[i].type);
    EXPECT_EQ(got[i].stream, expected[i].stream);
    EXPECT_EQ(got[i].data, expected[i].data);
    EXPECT_EQ(got[i].headers, expected[i].headers);
    EXPECT_EQ(got[i].fin, expected[i].fin);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SpdyPieces, test::seeds(30));

} // namespace
} // namespace berth::net::spdy
