// Which pods' decisions are wanted, and the attempts that were kept of them.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/explain/attempt.h"
#include "berth/sched/pod_info.h"

namespace berth::explain {

/// Pods by name, as users name them: NAME, NS/NAME, pod/NAME, pod/NS/NAME; job/NAME or
/// podgroup/NAME for all pods of one; "*" and "?" in any part stand for anything. Without NS:
/// of any namespace.
class Wanted {
 public:
  /// Error BadRequest: not of these forms.
  static Result<Wanted> parse(std::string_view text);

  struct Named {
    std::string_view ns;
    std::string_view name;
    std::string_view job;   ///< owner of kind Job; "" if none
    std::string_view group; ///< PodGroup; "" if none
  };
  bool covers(const Named& pod) const;
  bool covers(const sched::PodInfo& pod) const;
  const std::string& text() const { return text_; }

  enum class By { Pod, Job, PodGroup };
  By by() const { return by_; }
  /// NAME or NS/NAME, as given.
  std::string name() const { return ns_.empty() ? name_ : ns_ + "/" + name_; }

 private:
  std::string text_;
  By by_ = By::Pod;
  std::string ns_; ///< "" for any
  std::string name_;
};

/// Does the text fit the pattern, where "*" is any text and "?" any one character? O(n * m).
bool glob_matches(std::string_view pattern, std::string_view text);

struct BookLimits {
  std::size_t attempts_a_pod = 20; ///< the first and the latest are kept
  std::size_t pods = 1000;         ///< whoever was tried longest ago is dropped
};

/// Empty wishes cost one branch a decision.
class Book {
 public:
  explicit Book(std::vector<Wanted> wanted, BookLimits limits = {})
      : wanted_(std::move(wanted)), limits_(limits) {}

  bool wants(const sched::PodInfo& pod) const;
  /// Adds a wish for what is decided from now on.
  void want(Wanted wanted) { wanted_.push_back(std::move(wanted)); }
  const std::vector<Wanted>& wanted() const { return wanted_; }

  void add(const std::string& uid, Attempt attempt);
  /// What a pod's life adds: the binding that failed, the wait that ended. Ignored if unknown.
  void amend(const std::string& uid, std::string_view outcome, std::string_view message);

  struct Pod {
    std::string uid;
    std::deque<Attempt> attempts; ///< at least one
    std::size_t dropped = 0;      ///< between the first and the second one kept
  };
  /// In order of the pods' first attempts.
  std::vector<const Pod*> pods() const;
  /// Pods that were dropped for others.
  std::size_t dropped_pods() const { return dropped_; }

 private:
  std::vector<Wanted> wanted_;
  BookLimits limits_;
  std::map<std::string, Pod, std::less<>> pods_; ///< by uid
  std::vector<std::string> order_;               ///< uids by first attempt
  std::size_t dropped_ = 0;
};

} // namespace berth::explain
