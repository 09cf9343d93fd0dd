#include "berth/server/event_views.h"

#include <gtest/gtest.h>

namespace berth::server {
namespace {

api::json::value read(const char* text) {
  return api::parse_json(text).value();
}

TEST(EventViews, OneObjectUnderTwoSetsOfNames) {
  const auto core = read(R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e"},
    "involvedObject":{"kind":"Pod"},"reason":"R","message":"m","source":{"component":"c"},
    "firstTimestamp":null,"lastTimestamp":"2026-01-01T00:00:00Z","count":2,"type":"Normal",
    "eventTime":null,"reportingComponent":"c","reportingInstance":"i"})");
  const auto view = read(R"({"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"e"},
    "regarding":{"kind":"Pod"},"reason":"R","note":"m","deprecatedSource":{"component":"c"},
    "deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":"2026-01-01T00:00:00Z",
    "deprecatedCount":2,"type":"Normal","eventTime":null,"reportingController":"c",
    "reportingInstance":"i"})");
  auto event = core;
  to_event_view(event);
  EXPECT_EQ(api::to_json(event), api::to_json(view));
  to_core_event(event);
  EXPECT_EQ(api::to_json(event), api::to_json(core));
}

TEST(EventViews, WhatIsNoObjectStays) {
  for (const char* text : {"null", "[]", "\"x\"", "3"}) {
    auto event = read(text);
    to_event_view(event);
    EXPECT_EQ(event, read(text));
  }
}

} // namespace
} // namespace berth::server
