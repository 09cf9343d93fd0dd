// berth cdi list, berth cdi validate, berth cdi apply: CDI specs as container runtimes see them.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/cdi/apply.h"
#include "berth/cdi/spec_files.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/run/manifest_files.h"

namespace berth::cli {
namespace {

std::vector<std::string> directories_of(const Values& values) {
  const std::vector<std::string>& said = values.all("--spec-dir");
  return said.empty() ? std::vector<std::string>{"/etc/cdi", "/var/run/cdi"} : said;
}

/// Says what of the directories does not count.
void note_trouble(const cdi::SpecDirectories& found, Terminal& terminal) {
  for (const Error& error : found.broken) {
    terminal.note(fmt::format("left out: {}", to_string(error)));
  }
  for (const cdi::Registry::Conflict& conflict : found.registry.conflicts()) {
    terminal.note(fmt::format("left out: {} is defined more than once: {}", conflict.name,
                              fmt::join(conflict.files, ", ")));
  }
}

// ---- list ---------------------------------------------------------------------------------------

int list(const Invocation& invocation) {
  const std::vector<std::string> directories = directories_of(invocation.values);
  const cdi::SpecDirectories found = cdi::read_spec_directories(directories);
  const std::vector<std::string> names = found.registry.names();
  for (const std::string& name : names) {
    *invocation.terminal.out.to << name << "\n";
  }
  note_trouble(found, invocation.terminal);
  if (names.empty()) {
    invocation.terminal.note(fmt::format("no CDI device in {}; try {} cdi generate --output "
                                         "/etc/cdi/nvidia.yaml",
                                         fmt::join(directories, ", "),
                                         invocation.terminal.program));
  }
  return kDone;
}

// ---- validate -----------------------------------------------------------------------------------

Result<cdi::Spec> spec_at(const std::string& path) {
  if (path != "-") {
    return cdi::read_spec_file(path);
  }
  BERTH_TRY(const std::string text, read_text(path));
  return cdi::read_spec_text(text, "standard input");
}

int validate(const Invocation& invocation) {
  Terminal& terminal = invocation.terminal;
  int code = kDone;
  for (const std::string& path : invocation.values.arguments) {
    const auto spec = spec_at(path);
    if (!spec) {
      terminal.error(to_string(spec.error()));
      code = kFailed;
      continue;
    }
    *terminal.out.to << fmt::format("{}: valid, {} of version {} with {} {}\n", path, spec->kind,
                                    spec->cdi_version, spec->devices.size(),
                                    spec->devices.size() == 1 ? "device" : "devices");
  }
  return code;
}

// ---- apply --------------------------------------------------------------------------------------

Result<cdi::DeviceNumber> stat_device(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    return fail(Code::NotFound, std::generic_category().message(errno));
  }
  if (!S_ISCHR(found.st_mode) && !S_ISBLK(found.st_mode)) {
    return fail(Code::Invalid, "not a device file");
  }
  return cdi::DeviceNumber{.type = S_ISCHR(found.st_mode) ? "c" : "b",
                           .major = static_cast<std::int64_t>(major(found.st_rdev)),
                           .minor = static_cast<std::int64_t>(minor(found.st_rdev))};
}

Result<api::json::value> read_config(const std::string& path) {
  BERTH_TRY(const std::string text, read_text(path));
  const std::string name = path == "-" ? "standard input" : path;
  BERTH_TRY(api::json::value document, api::parse_json(text, name));
  if (!document.is_object()) {
    return fail_at({.file = name, .line = 1, .column = 1, .field = {}}, "an OCI spec is an object");
  }
  return document;
}

/// An error of the document is one of its file; a device that cannot be had is none.
Error in_config(Error error, const std::string& path) {
  if (error.where && error.where->file.empty()) {
    error.where->file = path;
  }
  return error;
}

Result<std::string> applied(const Values& values, Terminal& terminal) {
  BERTH_TRY(api::json::value document, read_config(values.get("--spec")));
  const cdi::SpecDirectories found = cdi::read_spec_directories(directories_of(values));
  note_trouble(found, terminal);
  if (auto done =
          cdi::apply_devices(found.registry, values.arguments, document.as_object(), &stat_device);
      !done) {
    return tl::unexpected(in_config(std::move(done).error(), values.get("--spec")));
  }
  return api::to_pretty_json(document) + "\n";
}

int apply(const Invocation& invocation) {
  Terminal& terminal = invocation.terminal;
  if (!invocation.values.has("--spec")) {
    terminal.error("--spec is missing", terminal.program + " cdi apply --help");
    return kUsage;
  }
  const auto text = applied(invocation.values, terminal);
  if (!text) {
    const bool of_config = text.error().where.has_value(); // a list of devices is no help with it
    terminal.error(to_string(text.error()), of_config ? "" : terminal.program + " cdi list");
    return kFailed;
  }
  *terminal.out.to << *text;
  return kDone;
}

Flag spec_dir_flag() {
  return {.name = "--spec-dir",
          .value = "DIRECTORY",
          .help = "where specs are; of a device in several the last one's counts. Without it, "
                  "/etc/cdi and /var/run/cdi",
          .group = "WHERE",
          .times = Flag::Times::Many,
          .offers = Offers::Directories};
}

} // namespace

Command cdi_list_command_table() {
  return {.name = "cdi list",
          .summary = "list the devices that CDI specs define",
          .synopsis = {"[--spec-dir DIRECTORY]..."},
          .description = {"The names that a container may ask for, vendor/class=device, one a "
                          "line. A file that is no spec is left out, and so is a device that two "
                          "files of one directory define; both are named on standard error."},
          .flags = {spec_dir_flag()},
          .examples = {{"what runtimes find here", "cdi list"}},
          .exit_codes = {{kDone, "listed, even if there is none"},
                         {kUsage, "the command line is wrong"}},
          .see_also = {"berth cdi generate", "berth cdi validate"},
          .run = &list};
}

Command cdi_validate_command_table() {
  return {.name = "cdi validate",
          .summary = "check CDI specs",
          .synopsis = {"FILE..."},
          .description = {"Reads each file as the reference library does: an unknown field is an "
                          "error, and so are names, versions and edits that break the rules of CDI "
                          "1.1.0. Errors name file, line and field."},
          .arguments = {{.name = "FILE",
                         .help = "a spec in YAML or JSON, or - for standard input",
                         .need = Argument::Need::OneOrMore,
                         .offers = Offers::Files}},
          .examples = {{"a spec that a driver installed", "cdi validate /var/run/cdi/nvidia.yaml"}},
          .exit_codes = {{kDone, "every file is valid"},
                         {kFailed, "at least one is not"},
                         {kUsage, "the command line is wrong"}},
          .see_also = {"berth cdi generate"},
          .run = &validate};
}

Command cdi_apply_command_table() {
  return {
      .name = "cdi apply",
      .summary = "show what CDI devices make of a container",
      .synopsis = {"--spec CONFIG [--spec-dir DIRECTORY]... NAME..."},
      .description = {"Prints the OCI runtime spec with the devices in it, as a runtime would "
                      "hand it on: environment, device nodes with their cgroup rules, mounts, "
                      "hooks. The file itself is left as it is. If a name does not resolve "
                      "nothing is printed; numbers of device nodes that a spec leaves out are "
                      "looked up on this machine."},
      .arguments = {{.name = "NAME",
                     .help = "a device, nvidia.com/gpu=0",
                     .need = Argument::Need::OneOrMore}},
      .flags = {{.name = "--spec",
                 .value = "CONFIG",
                 .help = "the container's config.json, or - for standard input",
                 .group = "WHAT",
                 .offers = Offers::Files},
                spec_dir_flag()},
      .examples = {{"two GPUs", "cdi apply --spec config.json nvidia.com/gpu=0 "
                                "nvidia.com/gpu=1"}},
      .exit_codes = {{kDone, "printed"},
                     {kFailed, "the OCI spec cannot be read or is none, or a device cannot be had"},
                     {kUsage, "the command line is wrong"}},
      .see_also = {"berth cdi list"},
      .run = &apply};
}

} // namespace berth::cli
