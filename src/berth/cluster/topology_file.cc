#include "berth/cluster/topology_file.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/api/manifest.h"
#include "berth/api/strict.h"
#include "berth/api/yaml.h"

namespace berth::cluster {
namespace {

using api::Field;

constexpr std::size_t kMostNames = 100'000;
constexpr std::string_view kRack = "berth.dev/rack";
constexpr std::string_view kBlock = "berth.dev/block";
constexpr std::string_view kClique = "nvidia.com/gpu.clique";

Error bad_pattern(std::string_view pattern, std::string_view why) {
  return {.code = Code::Invalid,
          .message =
              fmt::format("\"{}\" names no nodes: {}; try NAME or PREFIX[1-8,12]", pattern, why)};
}

/// The names of what is between brackets: "1-3,07".
Result<std::vector<std::string>> expand_ranges(std::string_view pattern, std::string_view ranges) {
  std::vector<std::string> names;
  while (true) {
    const std::string_view range = ranges.substr(0, ranges.find(','));
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    const auto read = [](std::string_view text, std::uint64_t& out) {
      const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
      return ec == std::errc() && end == text.data() + text.size();
    };
    if (!read(first, from) || !read(last, to) || from > to) {
      return tl::unexpected(bad_pattern(pattern, fmt::format("\"{}\" is no range", range)));
    }
    if (to - from >= kMostNames || names.size() + (to - from) >= kMostNames) {
      return tl::unexpected(bad_pattern(pattern, "they are more than 100000"));
    }
    for (; from <= to; ++from) {
      names.push_back(fmt::format("{:0{}}", from, first.size()));
    }
    if (range.size() == ranges.size()) {
      return names;
    }
    ranges.remove_prefix(range.size() + 1);
  }
}

/// Gives nodes labels; one that has another value of a label already is an error.
class Labelling {
 public:
  explicit Labelling(NodeLabels& out) : out_(&out) {}

  void give(const Field& at, const std::string& node, std::string_view key,
            std::string_view value) {
    const auto [it, fresh] = (*out_)[node].emplace(std::string(key), std::string(value));
    if (!fresh && it->second != value) {
      at.fail(fmt::format("node \"{}\" is in {} \"{}\" already, and cannot be in \"{}\" too", node,
                          key, it->second, value));
    }
  }

 private:
  NodeLabels* out_;
};

/// Calls `with` for each node that a list of patterns names.
template <class F> void each_node(const Field& patterns, F&& with) {
  patterns.each([&](const Field& item) {
    std::string pattern;
    decode(item, pattern);
    if (item.failed()) {
      return;
    }
    const auto names = expand_node_names(pattern);
    if (!names) {
      item.fail(names.error().message);
      return;
    }
    for (const std::string& name : *names) {
      with(item, name);
    }
  });
}

void read_levels(const Field& in, Labelling& labelling) {
  api::refuse_unknown(in, {"apiVersion", "kind", "metadata", "spec"});
  in.within("spec", [&](const Field& spec) {
    api::refuse_unknown(spec, {"levels"});
    spec.within("levels", [&](const Field& levels) {
      levels.each([&](const Field& level) {
        api::refuse_unknown(level, {"label", "domains"});
        std::string label;
        level.read("label", label);
        if (label.empty()) {
          api::require(level, "label");
        }
        level.within("domains", [&](const Field& domains) {
          domains.each_member([&](std::string_view domain, const Field& nodes) {
            each_node(nodes, [&](const Field& at, const std::string& node) {
              labelling.give(at, node, label, domain);
            });
          });
        });
      });
    });
  });
}

struct Switch {
  std::map<std::string, std::string> labels;
  std::string above; ///< "" at the top
};
using Switches = std::map<std::string, Switch, std::less<>>;

Switches read_switches(const Field& in) {
  Switches switches;
  in.each_member([&](std::string_view name, const Field& one) {
    api::refuse_unknown(one, {"labels", "switches", "metadata"});
    one.read("labels", switches[std::string(name)].labels);
    one.within("switches", [&](const Field& below) {
      below.each([&](const Field& item) {
        std::string child;
        decode(item, child);
        std::string& above = switches[child].above;
        if (!above.empty() && above != name) {
          item.fail(fmt::format("switch \"{}\" is below \"{}\" already", child, above));
        }
        above = name;
      });
    });
  });
  return switches;
}

/// What a switch says of the nodes on it.
api::Labels labels_of_switch(const Field& at, const Switches& switches, const std::string& leaf) {
  api::Labels labels;
  labels.emplace(std::string(kRack), leaf);
  std::set<std::string> passed;
  for (auto it = switches.find(leaf); it != switches.end(); it = switches.find(it->second.above)) {
    if (!passed.insert(it->first).second) {
      at.fail(fmt::format("switch \"{}\" is above itself", it->first));
      break;
    }
    for (const auto& [key, value] : it->second.labels) {
      labels.emplace(key, value); // the nearest counts
    }
    if (it->first == leaf && !it->second.above.empty()) {
      labels.emplace(std::string(kBlock), it->second.above);
    }
  }
  return labels;
}

void read_model(const Field& in, Labelling& labelling) {
  Switches switches;
  in.within("switches", [&](const Field& field) { switches = read_switches(field); });
  in.within("blocks", [&](const Field& blocks) {
    blocks.each([&](const Field& block) {
      std::string leaf;
      block.read("switch", leaf);
      api::Labels labels;
      if (!leaf.empty()) {
        labels = labels_of_switch(block, switches, leaf);
      }
      std::map<std::string, std::string> given;
      block.read("labels", given);
      std::map<std::string, std::string> annotations;
      block.read("annotations", annotations);
      for (const auto& [key, value] : annotations) {
        if (key.starts_with("accelerator")) {
          given.emplace(kClique, value);
        }
      }
      for (const auto& [key, value] : given) {
        labels.insert_or_assign(key, value);
      }
      block.within("nodes", [&](const Field& nodes) {
        each_node(nodes, [&](const Field& at, const std::string& node) {
          for (const auto& [key, value] : labels) {
            labelling.give(at, node, key, value);
          }
        });
      });
    });
  });
}

void read_document(const Field& in, NodeLabels& out) {
  Labelling labelling(out);
  std::string kind;
  in.read("kind", kind);
  bool model = false;
  in.within("blocks", [&](const Field&) { model = true; });
  if (kind == "Topology") {
    read_levels(in, labelling);
  } else if (kind.empty() && model) {
    read_model(in, labelling);
  } else if (!in.failed()) {
    in.fail("no topology: expected kind: Topology (berth.dev/v1alpha1), or switches and blocks as "
            "NVIDIA topograph writes them");
  }
}

} // namespace

Result<std::vector<std::string>> expand_node_names(std::string_view pattern) {
  std::vector<std::string> names = {""};
  std::string_view rest = pattern;
  while (!rest.empty()) {
    const std::size_t open = rest.find('[');
    for (std::string& name : names) {
      name += rest.substr(0, open);
    }
    if (open == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(open + 1);
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) {
      return tl::unexpected(bad_pattern(pattern, "\"[\" has no \"]\""));
    }
    BERTH_TRY(const auto numbers, expand_ranges(pattern, rest.substr(0, close)));
    if (names.size() * numbers.size() > kMostNames) {
      return tl::unexpected(bad_pattern(pattern, "they are more than 100000"));
    }
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& number : numbers) {
        longer.push_back(name + number);
      }
    }
    names = std::move(longer);
    rest.remove_prefix(close + 1);
  }
  if (names.front().empty()) {
    return tl::unexpected(bad_pattern(pattern, "it is empty"));
  }
  return names;
}

Result<NodeLabels> read_topology(std::string_view text, std::string_view file) {
  BERTH_TRY(const auto documents, api::parse_yaml(text, file));
  NodeLabels labels;
  for (const api::YamlDocument& document : documents) {
    std::optional<Error> failure;
    read_document(Field(document.value, failure), labels);
    if (failure) {
      Where where = failure->where.value_or(Where());
      const api::Position at = document.positions.find(api::pointer_of(where.field));
      where.file = file;
      where.line = at.line;
      where.column = at.column;
      failure->where = std::move(where);
      return tl::unexpected(*std::move(failure));
    }
  }
  if (labels.empty()) {
    return tl::unexpected(Error{.code = Code::Invalid,
                                .message = "the topology names no nodes",
                                .where = Where{.file = std::string(file)}});
  }
  return labels;
}

} // namespace berth::cluster
