// The commands of a few lines: completion, version, help, golden, golden-api.
#include <fmt/format.h>

#include "berth/cli/commands/commands.h"
#include "berth/cli/completion.h"
#include "berth/cli/golden.h"
#include "berth/cli/golden_api.h"

namespace berth::cli {
namespace {

int print_completion(const Invocation& invocation) {
  const std::string& shell = invocation.values.arguments[0];
  *invocation.terminal.out.to << (shell == "bash"  ? bash_completion()
                                  : shell == "zsh" ? zsh_completion()
                                                   : fish_completion());
  return kDone;
}

int print_version(const Invocation& invocation) {
  *invocation.terminal.out.to << invocation.terminal.version << '\n';
  return kDone;
}

int replay_golden(const Invocation& invocation) {
  return run_golden(invocation.values.arguments, *invocation.terminal.out.to);
}

int replay_golden_api(const Invocation& invocation) {
  const Values& values = invocation.values;
  return run_golden_api(values.arguments, std::string(values.get("--only")),
                        *invocation.terminal.out.to);
}

} // namespace

Command completion_command_table() {
  return {.name = "completion",
          .summary = "print a shell's completion script",
          .synopsis = {"SHELL"},
          .description = {"Completes commands, flags, the values that a flag allows, platforms and "
                          "files. Load it once, "
                          "or in every new shell."},
          .arguments = {{.name = "SHELL",
                         .help = "bash, zsh or fish",
                         .choices = {"bash", "zsh", "fish"},
                         .offers = Offers::Choices}},
          .examples = {{"this bash session",
                        "completion bash > ~/.berth-completion && source ~/.berth-completion"},
                       {"every zsh session", "completion zsh > \"${fpath[1]}/_berth\""},
                       {"every fish session",
                        "completion fish > ~/.config/fish/completions/berth.fish"}},
          .run = &print_completion};
}

Command version_command_table() {
  return {.name = "version",
          .summary = "print the version and the commit it was built from",
          .synopsis = {""},
          .description = {},
          .run = &print_version};
}

Command help_command_table() {
  return {.name = "help",
          .summary = "show help for a command",
          .synopsis = {"[COMMAND]"},
          .description = {},
          .arguments = {{.name = "COMMAND",
                         .help = "one or two words, e.g. run or hardware show",
                         .need = Argument::Need::Optional,
                         .offers = Offers::Commands},
                        {.name = "SUB-COMMAND",
                         .help = "its second word",
                         .need = Argument::Need::Optional}},
          .run = &show_help};
}

Command golden_command_table() {
  return {.name = "golden",
          .summary = "replay recorded kube-scheduler decisions and name every difference",
          .synopsis = {"DIR..."},
          .description = {"Runs every scenario file below the directories through the scheduler "
                          "and compares feasible "
                          "nodes, scores by plugin, totals and messages with what a real "
                          "kube-scheduler decided. The "
                          "last line counts decisions that agree, are out of scope, and differ."},
          .arguments = {{.name = "DIR",
                         .help = "directory of scenario files",
                         .need = Argument::Need::OneOrMore,
                         .offers = Offers::Directories}},
          .examples = {{"every recorded scenario", "golden golden/"}},
          .exit_codes = {{kDone, "no decision differs"},
                         {kFailed, "some decision differs, or a file could not be read"},
                         {kUsage, "the command line is wrong"}},
          .run = &replay_golden};
}

Command golden_api_command_table() {
  return {.name = "golden-api",
          .summary = "replay recorded kube-apiserver conversations and name every difference",
          .synopsis = {"DIR... [--only TEXT]"},
          .description = {"Sends the steps of every conversation below the directories to a fresh "
                          "API server and compares codes, types, warnings and bodies with what a "
                          "real kube-apiserver answered. The last line counts steps that agree and "
                          "steps that differ."},
          .arguments = {{.name = "DIR",
                         .help = "directory of conversations",
                         .need = Argument::Need::OneOrMore,
                         .offers = Offers::Directories}},
          .flags = {{.name = "--only",
                     .value = "TEXT",
                     .help = "only files whose names contain it, e.g. watch",
                     .group = "WHAT IS REPLAYED"}},
          .examples = {{"every recorded conversation", "golden-api golden-api/"}},
          .exit_codes = {{kDone, "no step differs"},
                         {kFailed, "some step differs, or a file could not be read"},
                         {kUsage, "the command line is wrong"}},
          .run = &replay_golden_api};
}

} // namespace berth::cli
