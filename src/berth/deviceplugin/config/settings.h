// Where the device plugin's configuration comes from: its flags, the environment, the file. Each
// setting is a row with the flag's and the variables' names, NVIDIA's own.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/deviceplugin/config/config.h"

namespace berth::deviceplugin {

/// The value of an environment variable; nothing if it is not set.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

struct ConfigSources {
  std::optional<std::string> file_text; ///< of the file that config_file_name() names
  std::string file_name;                ///< for errors
  Lookup environment = {};
  /// By name with its dashes, "--mig-strategy"; the last of several counts, all of a list.
  std::map<std::string, std::vector<std::string>, std::less<>> flags;
};

/// The path that --config-file, else CONFIG_FILE, names; "" for none.
std::string config_file_name(const ConfigSources& sources);

/// Defaults, overridden by the file, by the environment and by flags, in this order; validated.
/// Variables that are set to nothing count as not set. Errors (Invalid) name the flag or variable,
/// or the place in the file.
Result<Config> make_config(const ConfigSources& sources);

/// What a setting is called and for, for help texts.
struct SettingName {
  std::string_view flag;                   ///< "--mig-strategy"
  std::vector<std::string_view> variables; ///< the first that is set counts
  std::string_view value;                  ///< "STRATEGY"; "" for a switch
  std::string_view help;
};
std::vector<SettingName> setting_names();

} // namespace berth::deviceplugin
