// Extenders (spec 1.8): webhooks that filter, score and preempt beside the plugins. Deciding calls
// nobody: it looks up what was answered, notes what it would have to ask, and is started again with
// the answers. A decision with questions is no decision yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/sched/config_document.h"
#include "berth/sched/pod_info.h"

namespace berth::sched {

/// The plugin that nodes refused by extenders are counted under; any event may help.
inline constexpr std::string_view kExtenderPlugin = "Extender";

/// Does the extender want to be asked about the pod? It manages no resource, or one that the pod
/// asks for.
bool is_interested(const Extender& extender, const PodInfo& pod, const ResourceNames& names);

enum class ExtenderVerb { Filter, Prioritize, Preempt };

struct ExtenderVictims {
  std::vector<PodPtr> pods; ///< most important first
  std::int64_t budget_violations = 0;
  bool operator==(const ExtenderVictims&) const = default;
};
using VictimsByNode = std::map<std::string, ExtenderVictims, std::less<>>;

struct ExtenderQuestion {
  ExtenderVerb verb = ExtenderVerb::Filter;
  std::size_t extender = 0;       ///< index in the configuration's list
  std::vector<std::string> nodes; ///< Filter, Prioritize: in the order of the search
  VictimsByNode victims;          ///< Preempt
};

/// What became of one question. An error ends the decision, unless the extender is ignorable or was
/// asked for scores.
struct ExtenderAnswer {
  std::vector<std::string> nodes; ///< Filter: those that can do
  std::map<std::string, std::string, std::less<>> failed;
  std::map<std::string, std::string, std::less<>> unresolvable; ///< wins where a node is in both
  std::map<std::string, std::int64_t, std::less<>> scores;      ///< Prioritize: 0 to 10
  /// Preempt: node -> uids of victims, of those that were proposed, and budget violations.
  struct Victims {
    std::vector<std::string> uids;
    std::int64_t budget_violations = 0;
  };
  std::map<std::string, Victims, std::less<>> victims;
};

/// The talk of one pod with all extenders during one attempt. Questions are noted by the cycle;
/// whoever carries them answers every one and starts the cycle again.
class ExtenderTalk {
 public:
  /// The extenders must outlive it.
  ExtenderTalk(std::span<const Extender> extenders, const PodInfo& pod, const ResourceNames& names);

  /// Is anyone interested in the pod?
  bool empty() const { return interested_.empty(); }
  const Extender& extender(std::size_t i) const { return extenders_[i]; }

  const std::vector<ExtenderQuestion>& questions() const { return questions_; }
  /// Answers a question and forgets it.
  void answer(const ExtenderQuestion& question, Result<ExtenderAnswer> answer);

  /// What filtering extenders leave of the nodes, in order; each sees what those before it left.
  struct Filtered {
    std::vector<std::string> nodes;
    struct Refused {
      bool unresolvable = false;
      std::vector<std::string> reasons; ///< none: the extender gave none
    };
    std::map<std::string, Refused, std::less<>> refused;
  };
  /// None: there are questions now. Error: an extender that must not fail did.
  Result<std::optional<Filtered>> filter(const std::vector<std::string>& nodes);

  /// Of one extender: its raw scores (absent: 0), and what one of them adds to a node's total.
  struct Scores {
    std::size_t extender = 0;
    std::int64_t factor = 0; ///< its weight, and 10 for the range of plugins' scores
    std::map<std::string, std::int64_t, std::less<>> raw;
  };
  /// None: there are questions now. A failed extender scores nothing.
  std::optional<std::vector<Scores>> prioritize(const std::vector<std::string>& nodes);

  /// What preempting extenders leave of the candidates. None: there are questions now.
  Result<std::optional<VictimsByNode>> preempt(VictimsByNode candidates);

 private:
  /// What a filter said of one node.
  struct Said {
    bool passes = false;
    bool unresolvable = false;
    std::string reason;
  };
  struct Memory {
    std::map<std::string, Said, std::less<>> filtered;
    std::optional<std::vector<std::string>> scored; ///< nodes that scores were asked for
    std::map<std::string, std::int64_t, std::less<>> scores;
    std::optional<Error> failed_filter;
    std::optional<VictimsByNode> asked_victims;
    Result<std::map<std::string, ExtenderAnswer::Victims, std::less<>>> victims;
  };

  Result<void> apply_victims(std::size_t extender, VictimsByNode& candidates) const;

  std::span<const Extender> extenders_;
  std::vector<std::size_t> interested_;
  std::vector<Memory> memory_; ///< by extender
  std::vector<ExtenderQuestion> questions_;
};

} // namespace berth::sched
