#include "berth/explain/book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/scheduling_world.h"

namespace berth::explain {
namespace {

using testing::ElementsAre;

struct WantedCase {
  const char* text;
  bool plain;  ///< default/train-0, a bare pod
  bool of_job; ///< ml/train-0-x7, of Job train and PodGroup gang
};

class WantedTest : public testing::TestWithParam<WantedCase> {};

TEST_P(WantedTest, CoversPodsByNameOwnerAndGroup) {
  const auto wanted = Wanted::parse(GetParam().text);
  ASSERT_TRUE(wanted.has_value()) << to_string(wanted.error());
  EXPECT_EQ(wanted->covers({.ns = "default", .name = "train-0", .job = "", .group = ""}),
            GetParam().plain);
  EXPECT_EQ(wanted->covers({.ns = "ml", .name = "train-0-x7", .job = "train", .group = "gang"}),
            GetParam().of_job);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, WantedTest,
    testing::Values(WantedCase{"train-0", true, false}, WantedCase{"pod/train-0", true, false},
                    WantedCase{"default/train-0", true, false},
                    WantedCase{"pod/default/train-0", true, false},
                    WantedCase{"ml/train-0", false, false}, WantedCase{"train-0*", true, true},
                    WantedCase{"*", true, true}, WantedCase{"*/train-?", true, false},
                    WantedCase{"m?/*", false, true}, WantedCase{"job/train", false, true},
                    WantedCase{"jobs/ml/train", false, true},
                    WantedCase{"job/other/train", false, false}, WantedCase{"job/*", false, true},
                    WantedCase{"podgroup/gang", false, true}, WantedCase{"pg/g*g", false, true},
                    WantedCase{"job", false, false}));

TEST(Wanted, RefusesWhatNamesNoPod) {
  for (const char* text : {"", "/", "a/", "/a", "a/b/c", "pod/", "pod/a/b/c", "job/a/b/c"}) {
    const auto wanted = Wanted::parse(text);
    ASSERT_FALSE(wanted.has_value()) << text;
    EXPECT_THAT(wanted.error().message, testing::HasSubstr("try NAME, NAMESPACE/NAME")) << text;
  }
}

TEST(Glob, MatchesAsAPlainReferenceDoes) {
  // Every pattern of up to four characters of {a,*,?} against every text of up to four of {a,b}.
  const std::function<bool(std::string_view, std::string_view)> plain = [&](auto p,
                                                                            auto t) -> bool {
    if (p.empty()) {
      return t.empty();
    }
    if (p[0] == '*') {
      return plain(p.substr(1), t) || (!t.empty() && plain(p, t.substr(1)));
    }
    return !t.empty() && (p[0] == '?' || p[0] == t[0]) && plain(p.substr(1), t.substr(1));
  };
  const auto words = [](std::string_view letters) {
    std::vector<std::string> all = {""};
    for (std::size_t from = 0; all.back().size() < 4;) {
      for (const std::size_t end = all.size(); from < end; ++from) {
        for (const char c : letters) {
          all.push_back(all[from] + c);
        }
      }
    }
    return all;
  };
  for (const std::string& pattern : words("a*?")) {
    for (const std::string& text : words("ab")) {
      EXPECT_EQ(glob_matches(pattern, text), plain(pattern, text)) << pattern << " on " << text;
    }
  }
}

Attempt attempt(std::string name, int number, int second) {
  Attempt a;
  a.ns = "ns";
  a.pod = std::move(name);
  a.number = number;
  a.at = TimePoint::from_unix_seconds(second);
  return a;
}

std::vector<int> numbers(const Book::Pod& pod) {
  std::vector<int> out;
  for (const Attempt& a : pod.attempts) {
    out.push_back(a.number);
  }
  return out;
}

TEST(Book, KeepsTheFirstAttemptAndTheLatest) {
  Book book({}, {.attempts_a_pod = 3, .pods = 10});
  for (int i = 1; i <= 6; ++i) {
    book.add("u", attempt("p", i, i));
  }
  ASSERT_EQ(book.pods().size(), 1U);
  EXPECT_THAT(numbers(*book.pods()[0]), ElementsAre(1, 5, 6));
  EXPECT_EQ(book.pods()[0]->dropped, 3U);
}

TEST(Book, DropsThePodThatWasTriedLongestAgo) {
  Book book({}, {.attempts_a_pod = 3, .pods = 2});
  book.add("a", attempt("a", 1, 1));
  book.add("b", attempt("b", 1, 2));
  book.add("a", attempt("a", 2, 3));
  book.add("c", attempt("c", 1, 4));
  ASSERT_EQ(book.pods().size(), 2U);
  EXPECT_EQ(book.pods()[0]->uid, "a");
  EXPECT_EQ(book.pods()[1]->uid, "c");
  EXPECT_EQ(book.dropped_pods(), 1U);
}

TEST(Book, AmendsTheLatestAttemptAlone) {
  Book book({});
  book.add("u", attempt("p", 1, 1));
  book.add("u", attempt("p", 2, 2));
  book.amend("u", "Error", "binding rejected: x");
  book.amend("unknown", "Error", "nothing happens");
  EXPECT_EQ(book.pods()[0]->attempts[0].outcome, "");
  EXPECT_EQ(book.pods()[0]->attempts[1].outcome, "Error");
}

TEST(FoldNames, FoldsRunsOfNumbers) {
  const struct {
    std::vector<std::string> names;
    const char* want;
  } cases[] = {{{}, ""},
               {{"a"}, "a"},
               {{"n-1"}, "n-1"},
               {{"n-1", "n-10", "n-2", "n-3"}, "n-[1-3,10]"},
               {{"n-1", "m-1", "x"}, "m-1,n-1,x"},
               {{"n-01", "n-02"}, "n-01,n-02"},
               {{"10.0.0.1", "10.0.0.2"}, "10.0.0.[1-2]"},
               {{"7", "8"}, "[7-8]"},
               {{"a", "b", "c", "d", "e", "f", "g1", "g2"}, "a,b,c,d,e,f and 2 more"}};
  for (const auto& c : cases) {
    EXPECT_EQ(fold_names(c.names), c.want);
  }
}

} // namespace
} // namespace berth::explain
