// berth mig plan, berth mig show: how a GPU can be cut into instances, and where they lie.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/yaml.h"
#include "berth/base/suggest.h"
#include "berth/cli/commands/commands.h"
#include "berth/hardware/mig/layout.h"
#include "berth/report/table.h"
#include "berth/store/naming.h"

namespace berth::cli {
namespace {

using hardware::MigCard;
using hardware::MigLayout;
using hardware::MigPlace;
using hardware::MigProfile;
using hardware::MigWish;
using report::Column;

constexpr int kMostCards = 1024;

Result<const MigCard*> find_card(const std::string& name) {
  if (const MigCard* card = hardware::mig_card(name)) {
    return card;
  }
  std::vector<std::string_view> names;
  for (const MigCard& card : hardware::mig_cards()) {
    names.emplace_back(card.name);
  }
  const std::string_view near = nearest(name, names);
  return fail(Code::NotFound,
              fmt::format("no GPU \"{}\" that can be cut{}; there are {}", name,
                          near.empty() ? "" : fmt::format(", did you mean {}?", near),
                          fmt::join(names, ", ")));
}

std::string starts_of(const MigProfile& profile) {
  return fmt::format("{{{}}}:{}", fmt::join(profile.starts, ","), profile.memory_slices);
}

/// A card as its memory slices, a letter for each instance: "[aabb.ccc]".
std::string drawn(const MigCard& card, const MigLayout& layout) {
  std::string slices(static_cast<std::size_t>(card.memory_slices), '.');
  char letter = 'a';
  for (const MigPlace& place : layout) {
    std::fill_n(slices.begin() + place.start, place.profile->memory_slices, letter++);
  }
  return "[" + slices + "]";
}

std::string room_beside(const MigCard& card, const MigLayout& layout) {
  std::vector<std::string> parts;
  for (const MigProfile& profile : card.profiles) {
    if (const int room = hardware::room_for(card, layout, profile); room > 0) {
      parts.push_back(fmt::format("{} x {}", room, profile.name));
    }
  }
  return parts.empty() ? "full" : fmt::format("room for {}", fmt::join(parts, " or "));
}

std::string plan_table(const MigCard& card, const std::vector<MigLayout>& layouts,
                       report::TableStyle style) {
  using enum Column::Align;
  std::string out;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    out += fmt::format("{}card {}  {}  {}  {}\n", i == 0 ? "" : "\n", i, card.name,
                       drawn(card, layouts[i]), room_beside(card, layouts[i]));
    report::Table table({{.title = ""},
                         {.title = "PROFILE"},
                         {.title = "ID", .align = Right},
                         {.title = "START", .align = Right},
                         {.title = "SLICES", .align = Right}});
    char letter = 'a';
    for (const MigPlace& place : layouts[i]) {
      table.add({std::string(1, letter++), place.profile->name, fmt::to_string(place.profile->id),
                 fmt::to_string(place.start), fmt::to_string(place.profile->memory_slices)});
    }
    out += table.render(style);
  }
  return out;
}

/// The file that mig-parted takes. It has no places: the driver chooses them.
std::string mig_parted(const MigCard& card, const std::vector<MigLayout>& layouts,
                       const std::string& name) {
  std::vector<std::string> filter;
  for (const int device : card.pci_devices) {
    filter.push_back(fmt::format("\"0x{:04X}10DE\"", device));
  }
  std::string key = api::to_yaml(api::json::value(name)); // "true" would be no name without quotes
  key.pop_back();                                         // the end of its line
  std::string out = fmt::format("version: v1\nmig-configs:\n  {}:\n", key);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    out += fmt::format("  - device-filter: [{}]\n    devices: [{}]\n    mig-enabled: true\n"
                       "    mig-devices:\n",
                       fmt::join(filter, ", "), i);
    for (const MigProfile& profile : card.profiles) {
      const auto count = std::ranges::count(layouts[i], &profile, &MigPlace::profile);
      if (count > 0) {
        out += fmt::format("      \"{}\": {}\n", profile.name, count);
      }
    }
  }
  return out;
}

/// None: as many as it takes.
Result<std::optional<int>> cards_of(const Values& values) {
  if (!values.has("--cards")) {
    return std::nullopt;
  }
  const std::string text = values.get("--cards");
  int cards = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), cards);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || cards < 1 ||
      cards > kMostCards) {
    return fail(Code::BadRequest,
                fmt::format("--cards: want a number from 1 to {}, got \"{}\"", kMostCards, text));
  }
  return cards;
}

/// Nodes choose their configuration by a label's value, so that no other name is of use.
Result<std::string> name_of(const Values& values) {
  const std::string name = values.get("--name", "planned");
  const auto wrong = store::label_value_errors(name);
  if (name.empty() || !wrong.empty()) {
    return fail(Code::BadRequest, fmt::format("--name: want a label's value, got \"{}\"{}{}", name,
                                              wrong.empty() ? "" : ": ", fmt::join(wrong, "; ")));
  }
  return name;
}

struct Asked {
  const MigCard* card = nullptr;
  std::vector<MigWish> wishes;
  std::optional<int> cards;
  std::string name; ///< of the configuration
};

Result<Asked> asked_of(const Values& values) {
  for (const std::string_view flag : {"--card", "--want"}) {
    if (!values.has(flag)) {
      return fail(Code::BadRequest, fmt::format("{} is missing", flag));
    }
  }
  Asked asked;
  BERTH_TRY(asked.cards, cards_of(values));
  BERTH_TRY(asked.name, name_of(values));
  BERTH_TRY(asked.card, find_card(values.get("--card")));
  BERTH_TRY(asked.wishes, hardware::parse_mig_wishes(values.get("--want"), *asked.card));
  return asked;
}

Result<std::vector<MigLayout>> planned(const Asked& asked) {
  if (!asked.cards) {
    return hardware::lay_out_fewest_cards(*asked.card, asked.wishes);
  }
  if (auto layouts = hardware::lay_out_cards(*asked.card, asked.wishes, *asked.cards)) {
    return *std::move(layouts);
  }
  const auto fewest = hardware::lay_out_fewest_cards(*asked.card, asked.wishes).size();
  return fail(Code::Invalid, fmt::format("{}: these instances do not fit on {} {}; try --cards {}",
                                         asked.card->name, *asked.cards,
                                         *asked.cards == 1 ? "card" : "cards", fewest));
}

int plan(const Invocation& invocation) {
  Terminal& terminal = invocation.terminal;
  const auto asked = asked_of(invocation.values);
  if (!asked) {
    const bool usage = asked.error().code == Code::BadRequest;
    terminal.error(asked.error().message,
                   terminal.program + (usage ? " mig plan --help" : " mig show"));
    return usage ? kUsage : kFailed;
  }
  const auto layouts = planned(*asked);
  if (!layouts) {
    terminal.error(layouts.error().message);
    return kDoesNotFit;
  }
  *terminal.out.to << (invocation.values.get("--output") == "mig-parted"
                           ? mig_parted(*asked->card, *layouts, asked->name)
                           : plan_table(*asked->card, *layouts, {.paint = terminal.out.paint}));
  return kDone;
}

int show(const Invocation& invocation) {
  Terminal& terminal = invocation.terminal;
  using enum Column::Align;
  if (invocation.values.arguments.empty()) {
    report::Table table({{.title = "CARD"}, {.title = "PROFILES"}, {.title = "PRODUCTS"}});
    for (const MigCard& card : hardware::mig_cards()) {
      std::vector<std::string_view> profiles;
      for (const MigProfile& profile : card.profiles) {
        profiles.emplace_back(profile.name);
      }
      table.add({card.name, fmt::format("{}", fmt::join(profiles, " ")),
                 fmt::format("{}", fmt::join(card.products, " "))});
    }
    *terminal.out.to << table.render({.paint = terminal.out.paint});
    return kDone;
  }
  const auto card = find_card(invocation.values.arguments[0]);
  if (!card) {
    terminal.error(card.error().message, terminal.program + " mig show");
    return kFailed;
  }
  report::Table table({{.title = "PROFILE"},
                       {.title = "ID", .align = Right},
                       {.title = "COMPUTE SLICES", .align = Right},
                       {.title = "MEMORY SLICES", .align = Right},
                       {.title = "MOST", .align = Right},
                       {.title = "PLACEMENTS"}});
  for (const MigProfile& profile : (*card)->profiles) {
    table.add({profile.name, fmt::to_string(profile.id), fmt::to_string(profile.compute_slices),
               fmt::to_string(profile.memory_slices), fmt::to_string(profile.most),
               starts_of(profile)});
  }
  *terminal.out.to << fmt::format("{}  {} compute and {} memory slices  {}\n\n", (*card)->name,
                                  (*card)->compute_slices, (*card)->memory_slices,
                                  fmt::join((*card)->products, ", "))
                   << table.render({.paint = terminal.out.paint});
  return kDone;
}

} // namespace

Command mig_plan_command_table() {
  return {
      .name = "mig plan",
      .summary = "lay out MIG instances on one GPU or several",
      .synopsis = {"--card CARD --want PROFILE=COUNT[,PROFILE=COUNT]... [FLAGS]"},
      .description =
          {"Finds the start of every instance among the memory slices of a card, exactly: if there "
           "is a layout it is found, and of several the one that leaves room for the largest "
           "instances. More instances than one card holds are laid out on as few as are found to "
           "do. A letter in the drawing stands for an instance, a point for a free slice.",
           "With -o mig-parted the result is a file for NVIDIA's mig-parted and the GPU operator's "
           "MIG manager, which let the driver choose the places."},
      .flags = {{.name = "--card",
                 .value = "CARD",
                 .help = "the GPU: a name of berth mig show, or a product as nvidia-smi prints it",
                 .group = "WHAT"},
                {.name = "--want",
                 .value = "LIST",
                 .help = "profiles and how many of each: 1g.5gb=4,3g.20gb=1",
                 .group = "WHAT"},
                {.name = "--cards",
                 .value = "COUNT",
                 .help =
                     "how many such cards there are, up to 1024; without it, as many as it takes",
                 .group = "WHAT"},
                {.name = "--output",
                 .letter = 'o',
                 .value = "FORMAT",
                 .help = "instead of the table",
                 .group = "OUTPUT",
                 .choices = {"mig-parted"},
                 .offers = Offers::Choices},
                {.name = "--name",
                 .value = "NAME",
                 .help = "of the configuration in mig-parted's file, a label's value",
                 .group = "OUTPUT",
                 .fallback = "planned"}},
      .examples =
          {{"one card", "mig plan --card A100-40GB --want 1g.5gb=4,3g.20gb=1"},
           {"as many cards as it takes", "mig plan --card A100-40GB --want 1g.5gb=5,3g.20gb=1"},
           {"a configuration for two",
            "mig plan --card H100-80GB --cards 2 --want 1g.10gb=9,3g.40gb=1 -o mig-parted"}},
      .exit_codes = {{kDone, "laid out"},
                     {kFailed, "no such card or profile"},
                     {kUsage, "the command line is wrong"},
                     {kDoesNotFit, "there is no such layout"}},
      .see_also = {"berth mig show"},
      .run = &plan};
}

Command mig_show_command_table() {
  return {.name = "mig show",
          .summary = "show how GPUs can be cut into MIG instances",
          .synopsis = {"[CARD]"},
          .description = {"The profiles of a card with the places they may take, as nvidia-smi mig "
                          "-lgip and -lgipp print them: {0,4}:4 is four memory slices from slice 0 "
                          "or 4 on. Without a card, every card."},
          .arguments = {{.name = "CARD",
                         .help = "a card, or a product such as NVIDIA-H100-80GB-HBM3",
                         .need = Argument::Need::Optional}},
          .examples = {{"an H200", "mig show H200-141GB"}},
          .exit_codes = {{kDone, "shown"},
                         {kFailed, "no such card"},
                         {kUsage, "the command line is wrong"}},
          .see_also = {"berth mig plan"},
          .run = &show};
}

} // namespace berth::cli
