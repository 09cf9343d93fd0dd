// A command as data: its flags, arguments, examples and exit codes. Parsing (parse.h), --help
// (help.h), completion (completion.h) and validation all follow from these tables, so none of them
// can disagree.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cli/terminal.h"

namespace berth::cli {

/// What a shell offers for a value.
enum class Offers { Nothing, Files, Directories, Platforms, NodeGroups, Commands, Choices };

struct Flag {
  enum class Times { Once, Many };

  std::string_view name;          ///< "--nodes"
  char letter = 0;                ///< 'n' for -n; 0: none
  std::string_view value = {};    ///< "PLATFORM:COUNT"; empty: a switch
  std::string_view help = {};     ///< one or more sentences, lower case
  std::string_view group = {};    ///< heading in --help
  std::string_view fallback = {}; ///< shown as the default, and returned by Values::get
  Times times = Times::Once;
  std::vector<std::string_view> choices = {}; ///< the only values allowed, if any
  Offers offers = Offers::Nothing;
};

struct Argument {
  enum class Need { One, Optional, OneOrMore };

  std::string_view name; ///< "PLATFORM"
  std::string_view help = {};
  Need need = Need::One;
  std::vector<std::string_view> choices = {};
  Offers offers = Offers::Nothing;
};

struct Example {
  std::string_view what;
  std::string_view line;
};

struct ExitCode {
  int code = 0;
  std::string_view means;
};

/// A parsed command line.
struct Values {
  std::map<std::string, std::vector<std::string>, std::less<>>
      flags; ///< by "--name"; a switch has "true" for each time
  std::vector<std::string> arguments;

  bool has(std::string_view flag) const;
  /// The last value given, or `fallback`.
  std::string get(std::string_view flag, std::string_view fallback = "") const;
  const std::vector<std::string>& all(std::string_view flag) const;
};

struct Invocation {
  const Values& values;
  Terminal& terminal;
};

/// What main returns. `berth run` returns only these.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kDoesNotFit = 3;

struct Command {
  std::string_view name; ///< "run", "hardware show"
  std::string_view summary;
  std::vector<std::string_view> synopsis;    ///< after the program's and command's name
  std::vector<std::string_view> description; ///< paragraphs
  std::vector<Argument> arguments = {};
  std::vector<Flag> flags = {};
  std::vector<Example> examples = {};
  std::vector<ExitCode> exit_codes = {};
  std::vector<std::string_view> see_also = {};
  bool of_programs = false;                ///< not for people: left out of the overview
  int (*run)(const Invocation&) = nullptr; ///< nullptr: only sub-commands ("hardware")
};

/// Every command, in the order help lists them: one literal list.
const std::vector<Command>& commands();
/// Flags every command takes: --color, --verbose, --help.
const std::vector<Flag>& shared_flags();

} // namespace berth::cli
