// One function a command: its table. The list of them is commands() in commands.cc.
#pragma once

#include "berth/cli/command.h"

namespace berth::cli {

Command run_command_table();
Command golden_command_table();
Command golden_openb_command_table();
Command golden_api_command_table();
Command agent_command_table();
Command cni_plugin_command_table();
Command scheduler_command_table();
Command up_command_table();
Command down_command_table();
Command status_command_table();
Command apiserver_command_table();
Command snapshot_save_command_table();
Command snapshot_restore_command_table();
Command top_nodes_command_table();
Command top_pods_command_table();
Command top_gpus_command_table();
Command chaos_gpu_command_table();
Command chaos_node_command_table();
Command chaos_plugin_command_table();
Command hardware_local_command_table();
Command hardware_list_command_table();
Command hardware_show_command_table();
Command hardware_import_command_table();
Command labels_command_table();
Command device_plugin_command_table();
Command mig_plan_command_table();
Command mig_show_command_table();
Command cdi_generate_command_table();
Command cdi_list_command_table();
Command cdi_validate_command_table();
Command cdi_apply_command_table();
Command completion_command_table();
Command version_command_table();
Command help_command_table();

/// `berth help [COMMAND]`; lives in app.cc beside the search for commands.
int show_help(const Invocation& invocation);

} // namespace berth::cli
