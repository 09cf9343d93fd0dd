// berth hardware import FILE: a machine of yours as a platform file.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "berth/base/replace_file.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/platform_files.h"
#include "berth/cli/run/manifest_files.h"
#include "berth/hardware/formats/import.h"
#include "berth/hardware/formats/platform_yaml.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

/// Without the extension; ".48" of "driver-590.48" is none.
std::string_view stem_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const bool number =
      dot != std::string_view::npos &&
      std::ranges::all_of(name.substr(dot + 1), [](char c) { return c >= '0' && c <= '9'; });
  return number ? name : name.substr(0, dot);
}

/// "/tmp/My Node_topo.txt" -> "my-node-topo": what of a file's name can be a platform's.
std::string name_from(std::string_view path) {
  path.remove_prefix(std::min(path.rfind('/') + 1, path.size()));
  path = stem_of(path);
  std::string name;
  for (const char c : path.substr(0, 50)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (upper || kept) {
      name += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) {
    name.pop_back();
  }
  return name.empty() ? "imported" : name;
}

/// A device or a pipe is written to; a file, behind a link too, is replaced as a whole.
Result<void> write_to(const std::string& path, const std::string& text) {
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  if (failed || fs::is_regular_file(real, failed)) {
    return replace_file(real.empty() ? path : real.string(), text, 0644);
  }
  errno = 0;
  std::ofstream out(path);
  out << text << std::flush;
  return out ? Result<void>() : fail(Code::Unavailable, std::generic_category().message(errno));
}

Result<void> write_file(const std::string& path, const std::string& text) {
  if (const auto written = write_to(path, text); !written) {
    return fail(written.error().code,
                fmt::format("{}: the file cannot be written: {}", path, written.error().message));
  }
  return {};
}

Result<hardware::Imported> import_file(const Values& values) {
  const std::string& path = values.arguments[0];
  hardware::ImportOptions options{.name = values.get("--name", name_from(path))};
  std::shared_ptr<const hardware::Platform> like;
  if (values.has("--like")) {
    BERTH_TRY(like, find_platform(values.get("--like")));
    options.like = like.get();
  }
  BERTH_TRY(const std::string text, read_text(path));
  return hardware::import_machine(text, path == "-" ? "standard input" : path, options);
}

int import_machine_file(const Invocation& invocation) {
  const Values& values = invocation.values;
  Terminal& terminal = invocation.terminal;
  const auto made = import_file(values);
  if (!made) {
    terminal.error(to_string(made.error()), terminal.program + " hardware import --help");
    return kFailed;
  }
  for (const std::string& note : made->notes) {
    terminal.note(note);
  }
  const std::string text =
      fmt::format("# Made by berth hardware import from {}.\n{}",
                  values.arguments[0] == "-" ? "standard input" : name_from(values.arguments[0]),
                  hardware::platform_yaml(made->platform));
  const std::string path = values.get("--output-file");
  if (path.empty()) {
    *terminal.out.to << text;
    return kDone;
  }
  if (const auto written = write_file(path, text); !written) {
    terminal.error(to_string(written.error()));
    return kFailed;
  }
  terminal.note(fmt::format("wrote {}; try {} up --nodes {}:4", path, terminal.program, path));
  return kDone;
}

} // namespace

Command hardware_import_command_table() {
  return {
      .name = "hardware import",
      .summary = "make a platform file of a machine's nvidia-smi topo -m or NCCL topology file",
      .synopsis = {"FILE [--name NAME] [--like PLATFORM] [--output-file FILE]"},
      .description =
          {"FILE is what nvidia-smi topo -m printed on the machine (text around it does not "
           "matter), "
           "or the topology file that NCCL writes when a job runs with NCCL_TOPO_DUMP_FILE=FILE, "
           "which says more: bus ids, speeds, the PCIe tree, the GPU.",
           "What the file does not say is taken from the platform of the catalogue that is most "
           "like "
           "it, or from --like; every such assumption is a note. The platform file that comes out "
           "is "
           "taken by --nodes of berth run and berth up, and by berth hardware show."},
      .arguments = {{.name = "FILE",
                     .help = "the dump, or - for standard input",
                     .offers = Offers::Files}},
      .flags = {{.name = "--name",
                 .value = "NAME",
                 .help =
                     "of the platform, and so of its nodes: NAME-1, NAME-2. Without it, that of "
                     "the file",
                 .group = "WHAT"},
                {.name = "--like",
                 .value = "PLATFORM",
                 .help =
                     "the platform (or platform file) with the same GPU, for what the file does "
                     "not say",
                 .group = "WHAT",
                 .offers = Offers::Platforms},
                {.name = "--output-file",
                 .letter = 'o',
                 .value = "FILE",
                 .help = "where to write; without it, standard output",
                 .group = "OUTPUT",
                 .offers = Offers::Files}},
      .examples = {{"this machine, four times",
                    "hardware import topo.txt --like dgx-h200 -o mine.yaml"},
                   {"and a cluster of it", "run -f examples/ --nodes mine.yaml:4"}},
      .exit_codes = {{kDone, "written"},
                     {kFailed, "the file cannot be read, or is neither of the two"},
                     {kUsage, "the command line is wrong"}},
      .see_also = {"berth hardware show", "berth hardware list"},
      .run = &import_machine_file};
}

} // namespace berth::cli
