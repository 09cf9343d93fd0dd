#include "berth/cli/parse.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "berth/base/suggest.h"

namespace berth::cli {
namespace {

std::vector<Flag> flags_of(const Command& command) {
  std::vector<Flag> all = command.flags;
  all.insert(all.end(), shared_flags().begin(), shared_flags().end());
  return all;
}

std::string spelled(const Flag& flag) {
  return flag.letter == 0 ? std::string(flag.name) : fmt::format("-{},{}", flag.letter, flag.name);
}

std::string joined(std::span<const std::string_view> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    out += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

tl::unexpected<Error> unknown_flag(std::string_view word, const std::vector<Flag>& flags) {
  const std::string_view name = word.substr(0, word.find('='));
  std::vector<std::string_view> names;
  for (const Flag& flag : flags) {
    names.push_back(flag.name);
  }
  const std::string_view near = name.starts_with("--") ? nearest(name, names) : "";
  return fail(Code::BadRequest, near.empty()
                                    ? fmt::format("unknown flag {}", name)
                                    : fmt::format("unknown flag {}, did you mean {}?", name, near));
}

Result<void> check_choice(std::string_view what, std::string_view value,
                          std::span<const std::string_view> choices) {
  if (choices.empty() || std::ranges::find(choices, value) != choices.end()) {
    return {};
  }
  return fail(Code::BadRequest,
              fmt::format("{}: want {}, got \"{}\"", what, joined(choices), value));
}

Result<void> check_arguments(const Command& command, const std::vector<std::string>& given) {
  std::size_t least = 0;
  std::size_t most = command.arguments.size();
  for (const Argument& argument : command.arguments) {
    least += argument.need == Argument::Need::Optional ? 0 : 1;
    most = argument.need == Argument::Need::OneOrMore ? SIZE_MAX : most;
  }
  if (given.size() < least) {
    return fail(Code::BadRequest,
                fmt::format("{} is missing", command.arguments[given.size()].name));
  }
  if (given.size() > most) {
    return fail(Code::BadRequest, fmt::format("unexpected argument \"{}\"", given[most]));
  }
  for (std::size_t i = 0; i < given.size() && i < command.arguments.size(); ++i) {
    BERTH_CHECK(check_choice(command.arguments[i].name, given[i], command.arguments[i].choices));
  }
  return {};
}

// CLI11's own words begin with the flag: "--seed: 1 required TEXT missing".
tl::unexpected<Error> in_our_words(const CLI::Error& error, const std::vector<Flag>& flags) {
  const std::string text = error.what();
  for (const Flag& flag : flags) {
    if (text.starts_with(fmt::format("{}:", flag.name)) ||
        text.starts_with(fmt::format("-{}:", flag.letter))) {
      return fail(Code::BadRequest,
                  flag.value.empty() ? fmt::format("{} takes no value", flag.name)
                                     : fmt::format("{} needs a value: {}", flag.name, flag.value));
    }
  }
  return fail(Code::BadRequest, text);
}

// "--quiet" and "--quiet=true" set it, "--quiet=false" does not.
Result<void> settle_switch(const Flag& flag, Values& values) {
  const auto it = values.flags.find(flag.name);
  if (it == values.flags.end()) {
    return {};
  }
  for (const std::string& text : it->second) {
    if (text != "true" && text != "false") {
      return fail(Code::BadRequest,
                  fmt::format("{}: want true or false, got \"{}\"", flag.name, text));
    }
  }
  std::erase(it->second, "false");
  if (it->second.empty()) {
    values.flags.erase(it);
  }
  return {};
}

Result<void> check_values(const Flag& flag, const std::vector<Flag>& flags, const Values& values) {
  for (const std::string& text : values.all(flag.name)) {
    if (std::ranges::find(flags, text, &Flag::name) != flags.end()) {
      return fail(Code::BadRequest, fmt::format("{} needs a value: {}", flag.name, flag.value));
    }
    BERTH_CHECK(check_choice(flag.name, text, flag.choices));
  }
  return {};
}

/// CLI11's view of the tables; texts are read out of it by collect().
struct Reader {
  CLI::App app;
  std::vector<std::pair<const Flag*, CLI::Option*>> options;
  std::vector<std::string> arguments;

  Reader(const Command& command, const std::vector<Flag>& flags) : app(std::string(command.name)) {
    app.set_help_flag();
    app.allow_extras();
    for (const Flag& flag : flags) {
      options.emplace_back(&flag,
                           flag.value.empty() ? app.add_flag(spelled(flag)) : add_valued(flag));
    }
    if (!command.arguments.empty()) {
      app.add_option("arguments", arguments);
    }
  }

  CLI::Option* add_valued(const Flag& flag) {
    CLI::Option* option = app.add_option(spelled(flag));
    option->type_size(1)->expected(1)->allow_extra_args(false);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    return option;
  }

  Values collect() const {
    Values values;
    for (const auto& [flag, option] : options) {
      if (option->count() > 0) {
        values.flags[std::string(flag->name)] = option->results();
      }
    }
    values.arguments = arguments;
    return values;
  }
};

} // namespace

Result<Values> parse_command_line(const Command& command, std::span<const std::string> words) {
  const std::vector<Flag> flags = flags_of(command);
  const auto dashes = std::ranges::find(words, "--");
  Reader reader(command, flags);
  try {
    reader.app.parse(std::vector<std::string>(std::reverse_iterator(dashes), words.rend()));
  } catch (const CLI::Error& error) {
    return in_our_words(error, flags);
  }
  Values values = reader.collect();
  if (dashes != words.end()) {
    values.arguments.insert(values.arguments.end(), dashes + 1, words.end());
  }
  for (const std::string& word : reader.app.remaining()) {
    if (word.size() > 1 && word.starts_with("-")) {
      return unknown_flag(word, flags);
    }
    values.arguments.push_back(word);
  }
  for (const Flag& flag : flags) {
    BERTH_CHECK(flag.value.empty() ? settle_switch(flag, values)
                                   : check_values(flag, flags, values));
  }
  if (!values.has("--help")) {
    BERTH_CHECK(check_arguments(command, values.arguments));
  }
  return values;
}

} // namespace berth::cli
