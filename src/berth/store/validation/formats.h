// Formats of texts that many kinds share, in the words of apimachinery util/validation and
// k8s.io/kubernetes/pkg/apis/core/validation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/store/validation/judged.h"

namespace berth::store {

/// What is wrong with the text; empty when nothing is.
std::vector<std::string> port_name_errors(std::string_view name);
std::vector<std::string> config_key_errors(std::string_view key);
std::vector<std::string> variable_name_errors(std::string_view name);
std::vector<std::string> dns1035_label_errors(std::string_view name);
/// A wildcard subdomain: "*.example.com".
std::vector<std::string> wildcard_errors(std::string_view name);

/// What base64 stands for; other letters are passed over.
std::string from_base64(std::string_view base64);

bool is_ipv4(std::string_view text);
bool is_ip(std::string_view text);
/// "10.0.0.0/8"; its address and its length are right.
bool is_cidr(std::string_view text);

inline constexpr std::int64_t kHighestPort = 65535;
inline constexpr std::int64_t kHighestId = INT32_MAX;

/// A port by number or name; an absent one reads as 0.
void check_port_or_name(const Judged& port);
void check_ip(const Judged& text);
/// No ".." among its parts.
void check_no_backsteps(const Judged& path);
/// Relative, and below where it starts.
void check_descending_path(const Judged& path);
/// The same, and its first part may not begin with "..".
void check_local_path(const Judged& path);
/// 0 to 0777.
void check_file_mode(const Judged& mode);
/// Labels of any object's field: keys and values.
void check_label_map(const Judged& labels);
/// metav1.LabelSelector: matchLabels, then matchExpressions.
void check_label_selector(const Judged& selector);

} // namespace berth::store
