#include "berth/cli/commands/commands.h"

namespace berth::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> kCommands = {run_command_table(),
                                                 up_command_table(),
                                                 down_command_table(),
                                                 status_command_table(),
                                                 top_nodes_command_table(),
                                                 top_pods_command_table(),
                                                 top_gpus_command_table(),
                                                 chaos_gpu_command_table(),
                                                 chaos_node_command_table(),
                                                 chaos_plugin_command_table(),
                                                 agent_command_table(),
                                                 cni_plugin_command_table(),
                                                 scheduler_command_table(),
                                                 apiserver_command_table(),
                                                 snapshot_save_command_table(),
                                                 snapshot_restore_command_table(),
                                                 golden_command_table(),
                                                 golden_openb_command_table(),
                                                 golden_api_command_table(),
                                                 hardware_local_command_table(),
                                                 hardware_list_command_table(),
                                                 hardware_show_command_table(),
                                                 hardware_import_command_table(),
                                                 labels_command_table(),
                                                 device_plugin_command_table(),
                                                 mig_plan_command_table(),
                                                 mig_show_command_table(),
                                                 cdi_generate_command_table(),
                                                 cdi_list_command_table(),
                                                 cdi_validate_command_table(),
                                                 cdi_apply_command_table(),
                                                 completion_command_table(),
                                                 version_command_table(),
                                                 help_command_table()};
  return kCommands;
}

} // namespace berth::cli
