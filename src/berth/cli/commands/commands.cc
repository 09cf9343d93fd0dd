#include "berth/cli/commands/commands.h"

namespace berth::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> kCommands = {
      run_command_table(),           up_command_table(),
      down_command_table(),          status_command_table(),
      scheduler_command_table(),     apiserver_command_table(),
      snapshot_save_command_table(), snapshot_restore_command_table(),
      golden_command_table(),        golden_openb_command_table(),
      golden_api_command_table(),    hardware_list_command_table(),
      hardware_show_command_table(), completion_command_table(),
      version_command_table(),       help_command_table()};
  return kCommands;
}

} // namespace berth::cli
