// berth snapshot save and restore: the data of a lasting cluster as one file.
#include <fmt/format.h>

#include "berth/cli/commands/commands.h"
#include "berth/cli/run/manifest_files.h"
#include "berth/cli/up/home.h"
#include "berth/report/text.h"
#include "berth/store/snapshot.h"

namespace berth::cli {
namespace {

constexpr const char* kNodesFile = "nodes";

/// --data DIR, or the data folder of --home DIR, $BERTH_HOME or ~/.berth.
Result<std::filesystem::path> data_folder(const Values& values) {
  if (values.has("--data") && values.has("--home")) {
    return fail(Code::BadRequest, "--data and --home name one folder twice; give one of them");
  }
  if (values.has("--data")) {
    return std::filesystem::path(values.get("--data"));
  }
  if (values.has("--home")) {
    return Home{.folder = values.get("--home")}.data();
  }
  BERTH_TRY(const Home home, home_of(process_environment()));
  return home.data();
}

std::filesystem::path database_in(const std::filesystem::path& folder) {
  return folder / Home().database().filename();
}

std::string told(const store::Snapshot& facts) {
  return fmt::format("{} {}, revision {}", facts.objects, facts.objects == 1 ? "object" : "objects",
                     facts.revision);
}

int failed(const Invocation& invocation, const Error& error) {
  invocation.terminal.error(to_string(error));
  return error.code == Code::BadRequest ? kUsage : kFailed;
}

int run_save(const Invocation& invocation) {
  const auto folder = data_folder(invocation.values);
  if (!folder) {
    return failed(invocation, folder.error());
  }
  std::map<std::string, std::string> files;
  if (std::filesystem::exists(*folder / kNodesFile)) {
    auto nodes = read_text((*folder / kNodesFile).string());
    if (!nodes) {
      return failed(invocation, nodes.error());
    }
    files.emplace(kNodesFile, *std::move(nodes));
  }
  const std::string& to = invocation.values.arguments.front();
  const auto saved = store::save_snapshot(database_in(*folder).string(), files, to);
  if (!saved) {
    return failed(invocation, saved.error());
  }
  *invocation.terminal.out.to << fmt::format("saved {}: {}\n", to, told(*saved));
  return kDone;
}

/// A lock alone is nothing.
bool holds_data(const std::filesystem::path& folder) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (!entry.path().string().ends_with("-lock")) {
      return true;
    }
  }
  return false;
}

/// Nothing is replaced unasked, and nothing under a running server.
Result<void> may_replace(const std::filesystem::path& folder, const Values& values) {
  const Home home{.folder = folder.parent_path()};
  if (const auto running = running_at(home); running && home.data() == folder) {
    return fail(Code::Conflict, fmt::format("a cluster is running on this data: {} (process {}); "
                                            "try berth down",
                                            running->url, running->pid));
  }
  if (!values.has("--force") && holds_data(folder)) {
    return fail(Code::AlreadyExists, fmt::format("{}: the data directory is not empty; choose "
                                                 "another, or replace what is in it with --force",
                                                 folder.string()));
  }
  return {};
}

int run_restore(const Invocation& invocation) {
  const auto folder = data_folder(invocation.values);
  if (!folder) {
    return failed(invocation, folder.error());
  }
  if (const auto may = may_replace(*folder, invocation.values); !may) {
    return failed(invocation, may.error());
  }
  if (const auto made = make_private_folder(*folder); !made) {
    return failed(invocation, made.error());
  }
  const std::string& from = invocation.values.arguments.front();
  const auto restored = store::restore_snapshot(from, database_in(*folder).string());
  if (!restored) {
    return failed(invocation, restored.error());
  }
  if (const auto nodes = restored->files.find(kNodesFile); nodes != restored->files.end()) {
    if (const auto written = write_private(*folder / kNodesFile, nodes->second); !written) {
      return failed(invocation, written.error());
    }
  }
  *invocation.terminal.out.to << fmt::format("restored {}: {}; writes go on from revision {}\n",
                                             folder->string(), told(*restored),
                                             restored->revision + store::kRevisionBump);
  return kDone;
}

std::vector<Flag> place_flags() {
  return {{.name = "--home",
           .value = "DIR",
           .help = "the cluster's home; else $BERTH_HOME, or ~/.berth",
           .group = "CLUSTER",
           .offers = Offers::Directories},
          {.name = "--data",
           .value = "DIR",
           .help = "the data directory itself, in place of the one in a home",
           .group = "CLUSTER",
           .offers = Offers::Directories}};
}

} // namespace

Command snapshot_save_command_table() {
  return {
      .name = "snapshot save",
      .summary = "save the data of a cluster as one file",
      .synopsis = {"FILE [--home DIR | --data DIR]"},
      .description =
          {"Every object as of one moment, with a checksum. The cluster may be running: what it "
           "has answered is in the file. Keys and certificates are not; keep the home's pki "
           "folder as well if they are to stay the same."},
      .arguments = {{.name = "FILE",
                     .help = "a file that is not there yet",
                     .offers = Offers::Files}},
      .flags = place_flags(),
      .examples = {{"of the cluster that berth up started", "snapshot save monday.snapshot"}},
      .exit_codes = {{kDone, "the file is written, and on the disk"},
                     {kFailed, "it could not be written"},
                     {kUsage, "the command line is wrong"}},
      .see_also = {"berth snapshot restore"},
      .run = &run_save};
}

Command snapshot_restore_command_table() {
  std::vector<Flag> flags = place_flags();
  flags.push_back(
      {.name = "--force", .help = "replace what is in the data directory", .group = "CLUSTER"});
  return {.name = "snapshot restore",
          .summary = "bring the data of a cluster back from a file",
          .synopsis = {"FILE [--home DIR | --data DIR] [--force]"},
          .description =
              {"For a cluster that is not running; berth up goes on from there. Resource versions "
               "move on by a thousand million, so that clients that watched before list anew."},
          .arguments = {{.name = "FILE",
                         .help = "what berth snapshot save has written",
                         .offers = Offers::Files}},
          .flags = std::move(flags),
          .examples = {{"into an empty home", "snapshot restore monday.snapshot --home /srv/berth"},
                       {"in place of what is there", "snapshot restore monday.snapshot --force"}},
          .exit_codes = {{kDone, "the data is there"},
                         {kFailed, "nothing was changed: the file is no snapshot, or damaged; the "
                                   "data directory is in use, or not empty"},
                         {kUsage, "the command line is wrong"}},
          .see_also = {"berth snapshot save"},
          .run = &run_restore};
}

} // namespace berth::cli
