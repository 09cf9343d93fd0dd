// Tests on the real clock: never for a span, always until something holds.
#pragma once

#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include "berth/net/asio_loop.h"

namespace berth::test {

/// Runs the loop until `holds`; patience is for a machine under load, and its end is a failure.
inline ::testing::AssertionResult run_until(net::AsioLoop& loop,
                                            const std::function<bool()>& holds) {
  const Duration patience = Duration::seconds(60);
  const TimePoint end = loop.now() + patience;
  while (!holds()) {
    if (loop.now() >= end) {
      return ::testing::AssertionFailure() << "not within " << to_string(patience);
    }
    loop.run_for(Duration::millis(1));
  }
  return ::testing::AssertionSuccess();
}

/// Runs the loop until the answer to `ask(done)` comes.
template <class T, class Ask> Result<T> answer_of(net::AsioLoop& loop, const Ask& ask) {
  std::optional<Result<T>> answer;
  ask([&](Result<T> said) { answer = std::move(said); });
  EXPECT_TRUE(run_until(loop, [&] { return answer.has_value(); }));
  return answer ? *std::move(answer) : Result<T>(fail(Code::Internal, "no answer"));
}

} // namespace berth::test
