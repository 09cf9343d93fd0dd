#include "berth/sched/plugins/trimaran_args.h"

#include <charconv>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "berth/api/strict.h"

namespace berth::sched {
namespace {

void check_provider(const api::Field& in) {
  api::refuse_unknown(in, {"type", "address", "token", "insecureSkipVerify"});
  std::string type;
  std::string address;
  std::string token;
  bool insecure = true;
  in.read("type", type);
  in.read("address", address);
  in.read("token", token);
  in.read("insecureSkipVerify", insecure);
  in.within("type", [&](const api::Field& field) {
    api::check_choice(field, type, {"KubernetesMetricsServer", "Prometheus", "SignalFx"});
  });
}

} // namespace

void read_trimaran_args(const api::Field& in, std::initializer_list<std::string_view> own) {
  std::vector<std::string_view> known(own);
  known.insert(known.end(), {"metricProvider", "watcherAddress"});
  api::refuse_unknown(in, known);
  in.within("metricProvider", &check_provider);
  std::string address;
  in.read("watcherAddress", address);
}

void read_decimal(const api::Field& in, std::string_view member, double& out) {
  in.within(member, [&](const api::Field& field) {
    double value = 0;
    if (field.value().is_number()) {
      value = field.value().to_number<double>();
    } else {
      std::string text;
      decode(field, text);
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size()) {
        return field.fail(fmt::format("Invalid value: \"{}\": must be a number", text));
      }
    }
    if (!std::isfinite(value) || value < 0) {
      return api::refuse_value(field, "must be a number of 0 or more");
    }
    out = value;
  });
}

} // namespace berth::sched
