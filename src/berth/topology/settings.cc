#include "berth/topology/settings.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/quantity.h"

namespace berth::topology {
namespace {

namespace json = api::json;

// An error about a field of the configuration.
tl::unexpected<Error> at(std::string_view field, std::string message) {
  return fail_at({.file = "", .line = 0, .column = 0, .field = std::string(field)},
                 std::move(message));
}

template <class T> Result<T> named(std::string_view field, Result<T> result) {
  if (!result && !result.error().where) {
    return at(field, std::move(result).error().message);
  }
  return result;
}

Result<std::string> text_of(std::string_view field, const json::value& value) {
  if (!value.is_string()) {
    return at(field, fmt::format("a text is expected: {}", api::to_json(value)));
  }
  return std::string(value.get_string());
}

Result<OptionTexts> options_of(std::string_view field, const json::value& value) {
  OptionTexts texts;
  if (!value.is_object()) {
    return at(field, fmt::format("a mapping of texts is expected: {}", api::to_json(value)));
  }
  for (const auto& [name, text] : value.get_object()) {
    BERTH_TRY(texts[std::string(name)], text_of(field, text));
  }
  return texts;
}

Result<MemoryAmounts> amounts_of(std::string_view field, const json::value& limits) {
  MemoryAmounts amounts;
  if (!limits.is_object()) {
    return at(field, fmt::format("limits must be a mapping: {}", api::to_json(limits)));
  }
  for (const auto& [resource, value] : limits.get_object()) {
    const std::string name(resource);
    if (name != "memory" && !name.starts_with("hugepages-")) {
      return at(field, fmt::format("memory or hugepages-SIZE is expected: {}", name));
    }
    BERTH_TRY(const std::string text, text_of(field, value));
    BERTH_TRY(const api::Quantity quantity, named(field, api::Quantity::parse(text)));
    if (quantity.sign() <= 0) {
      return at(field, fmt::format("an amount above 0 is expected for {}: {}", name, text));
    }
    amounts[name] = quantity.value();
  }
  return amounts;
}

Result<std::map<int, MemoryAmounts>> reserved_memory_of(std::string_view field,
                                                        const json::value& value) {
  std::map<int, MemoryAmounts> reserved;
  if (!value.is_array()) {
    return at(field, fmt::format("a list is expected: {}", api::to_json(value)));
  }
  for (const json::value& entry : value.get_array()) {
    const json::value* node = api::find(entry, "numaNode");
    const json::value* limits = api::find(entry, "limits");
    const bool valid = node && node->is_int64() && node->get_int64() >= 0 &&
                       node->get_int64() < NumaMask::kMostNodes && limits;
    if (!valid) {
      return at(field, fmt::format("numaNode from 0 to {} and limits are expected: {}",
                                   NumaMask::kMostNodes - 1, api::to_json(entry)));
    }
    const int id = static_cast<int>(node->get_int64());
    BERTH_TRY(MemoryAmounts amounts, amounts_of(field, *limits));
    if (!reserved.emplace(id, std::move(amounts)).second) {
      return at(field, fmt::format("NUMA node {} is there twice", id));
    }
  }
  return reserved;
}

using Reader = Result<void> (*)(std::string_view field, const json::value&, Settings&);
struct Field {
  std::string_view name;
  Reader read;
};

// One field that is a word, read into a member.
template <auto Parse, class To>
Result<void> read_word(std::string_view field, const json::value& value, To& to) {
  BERTH_TRY(const std::string text, text_of(field, value));
  BERTH_TRY(to, named(field, Parse(text)));
  return {};
}

template <auto Parse, class To>
Result<void> read_options(std::string_view field, const json::value& value, To& to) {
  BERTH_TRY(const OptionTexts texts, options_of(field, value));
  BERTH_TRY(to, named(field, Parse(texts)));
  return {};
}

constexpr std::array<Field, 8> kFields{{
    {"topologyManagerPolicy",
     [](std::string_view field, const json::value& value, Settings& to) {
       return read_word<parse_policy>(field, value, to.alignment.policy);
     }},
    {"topologyManagerScope",
     [](std::string_view field, const json::value& value, Settings& to) {
       return read_word<parse_scope>(field, value, to.alignment.scope);
     }},
    {"topologyManagerPolicyOptions",
     [](std::string_view field, const json::value& value, Settings& to) {
       return read_options<parse_policy_options>(field, value, to.alignment.options);
     }},
    {"cpuManagerPolicy",
     [](std::string_view field, const json::value& value, Settings& to) {
       return read_word<parse_cpu_policy>(field, value, to.cpu_policy);
     }},
    {"cpuManagerPolicyOptions",
     [](std::string_view field, const json::value& value, Settings& to) {
       return read_options<parse_cpu_options>(field, value, to.cpu_options);
     }},
    {"reservedSystemCPUs",
     [](std::string_view field, const json::value& value, Settings& to) {
       return read_word<CpuSet::parse>(field, value, to.reserved_cpus);
     }},
    {"memoryManagerPolicy",
     [](std::string_view field, const json::value& value, Settings& to) {
       return read_word<parse_memory_policy>(field, value, to.memory_policy);
     }},
    {"reservedMemory",
     [](std::string_view field, const json::value& value, Settings& to) -> Result<void> {
       BERTH_TRY(to.reserved_memory, reserved_memory_of(field, value));
       return {};
     }},
}};

} // namespace

Result<Settings> read_settings(const api::json::value& configuration) {
  if (!configuration.is_object()) {
    return fail(Code::Invalid, fmt::format("a mapping of KubeletConfiguration fields is expected: "
                                           "{}",
                                           api::to_json(configuration)));
  }
  Settings settings;
  for (const auto& [name, value] : configuration.get_object()) {
    const auto* field = std::ranges::find(kFields, std::string_view(name), &Field::name);
    if (field == kFields.end()) {
      std::array<std::string_view, kFields.size()> names{};
      std::ranges::transform(kFields, names.begin(), &Field::name);
      return at(name,
                fmt::format("not a field that the agent knows: {} are", fmt::join(names, ", ")));
    }
    BERTH_CHECK(field->read(field->name, value, settings));
  }
  return settings;
}

Result<Rules> make_rules(const Settings& settings, Machine machine, const KeptBack& kept_back) {
  constexpr std::int64_t kMilli = 1000;
  auto known = std::make_shared<const Machine>(std::move(machine));
  Rules rules{.machine = known,
              .alignment = settings.alignment,
              .cpus = {.policy = settings.cpu_policy,
                       .options = settings.cpu_options,
                       .reserved = settings.reserved_cpus.value_or(CpuSet())},
              .memory = {.policy = settings.memory_policy,
                         .reserved = settings.reserved_memory.value_or(
                             reserve_memory(*known, kept_back.memory))}};
  BERTH_CHECK(check_machine(rules.alignment, *rules.machine));
  const auto kept_cpus = static_cast<int>((kept_back.milli_cpu + kMilli - 1) / kMilli);
  if (rules.cpus.policy == CpuPolicy::Static && !settings.reserved_cpus && kept_cpus > 0) {
    BERTH_TRY(rules.cpus.reserved, reserve_cpus(*rules.machine, kept_cpus, settings.cpu_options));
  }
  BERTH_CHECK(check_cpu_rules(rules.cpus, rules.alignment.policy, *rules.machine));
  BERTH_CHECK(check_memory_rules(rules.memory, *rules.machine, kept_back.memory));
  return rules;
}

} // namespace berth::topology
