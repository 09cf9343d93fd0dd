#include "berth/patch/managed_fields.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/patch/fields_v1.h"

namespace berth::patch {
namespace {

constexpr std::size_t kMostUpdaters = 10;
constexpr std::size_t kLongestName = 128;
constexpr std::string_view kOldUpdates = "ancient-changes";

std::string text(const json::value& entry, std::string_view member) {
  return std::string(api::string_at(entry, member));
}

/// Whole seconds since 1970; 0 without a time.
std::int64_t seconds(const std::optional<std::string>& time) {
  const auto parsed = time ? parse_rfc3339(*time) : Result<TimePoint>(TimePoint());
  return parsed ? parsed->unix_seconds() : 0;
}

Result<std::pair<ManagerId, Owned>> read_entry(const json::value& entry, std::size_t index) {
  const std::string operation = text(entry, "operation");
  if (operation != "Apply" && operation != "Update") {
    return fail(Code::Invalid, "operation must be `Apply` or `Update`");
  }
  const std::string version = text(entry, "apiVersion");
  if (version.empty()) {
    return fail(Code::Invalid, "apiVersion must not be empty");
  }
  const std::string type = text(entry, "fieldsType");
  if (type.empty()) {
    return fail(Code::Invalid, fmt::format("missing fieldsType in managed fields entry {}", index));
  }
  if (type != "FieldsV1") {
    return fail(Code::Invalid,
                fmt::format("invalid fieldsType \"{}\" in managed fields entry {}", type, index));
  }
  const bool applies = operation == "Apply";
  Owned owned{.fields = {}, .api_version = version, .time = {}};
  if (const json::value* fields = api::find(entry, "fieldsV1")) {
    BERTH_TRY(owned.fields, read_fields_v1(*fields));
  }
  if (const json::value* time = api::find(entry, "time"); time != nullptr && time->is_string()) {
    owned.time = std::string(time->get_string());
  }
  return std::pair(ManagerId{.manager = text(entry, "manager"),
                             .operation = applies ? Operation::Apply : Operation::Update,
                             .api_version = applies ? "" : version,
                             .subresource = text(entry, "subresource")},
                   std::move(owned));
}

json::object written(const ManagerId& id, const Owned& owned) {
  json::object out;
  if (!id.manager.empty()) {
    out["manager"] = id.manager;
  }
  out["operation"] = id.operation == Operation::Apply ? "Apply" : "Update";
  out["apiVersion"] = owned.api_version;
  if (owned.time) {
    out["time"] = *owned.time;
  }
  out["fieldsType"] = "FieldsV1";
  out["fieldsV1"] = write_fields_v1(owned.fields);
  if (!id.subresource.empty()) {
    out["subresource"] = id.subresource;
  }
  return out;
}

json::object* metadata(json::value& object) {
  json::object* root = object.if_object();
  json::value* meta = root == nullptr ? nullptr : root->if_contains("metadata");
  return meta == nullptr ? nullptr : meta->if_object();
}

const json::value* entries_of(const json::value& object) {
  return api::find_path(object, "metadata.managedFields");
}

} // namespace

Result<Managers> read_managed_fields(const json::value& object) {
  Managers out;
  const json::value* entries = entries_of(object);
  const json::array* array = entries == nullptr ? nullptr : entries->if_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    BERTH_TRY(auto entry, read_entry((*array)[i], i));
    out.insert_or_assign(std::move(entry.first), std::move(entry.second));
  }
  return out;
}

void write_managed_fields(json::value& object, const Managers& managers) {
  if (managers.empty()) {
    return remove_managed_fields(object);
  }
  std::vector<const Managers::value_type*> order;
  for (const auto& manager : managers) {
    order.push_back(&manager);
  }
  std::ranges::sort(order, {}, [](const Managers::value_type* entry) {
    const auto& [id, owned] = *entry;
    return std::tuple(id.operation, seconds(owned.time), id.manager, owned.api_version,
                      id.subresource);
  });
  json::array entries;
  for (const auto* entry : order) {
    entries.push_back(written(entry->first, entry->second));
  }
  api::object_at(object.get_object(), "metadata")["managedFields"] = std::move(entries);
}

void remove_managed_fields(json::value& object) {
  if (json::object* meta = metadata(object)) {
    if (const auto at = meta->find("managedFields"); at != meta->end()) {
      meta->stable_erase(at);
    }
  }
}

bool resets_managed_fields(const json::value& object) {
  const json::value* entries = entries_of(object);
  const json::array* array = entries == nullptr ? nullptr : entries->if_array();
  if (array == nullptr || array->size() > 1) {
    return false;
  }
  return array->empty() || (array->front().is_object() && array->front().get_object().empty());
}

void cap_updaters(Managers& managers) {
  std::vector<ManagerId> updaters;
  for (const auto& [id, owned] : managers) {
    if (id.operation == Operation::Update) {
      updaters.push_back(id);
    }
  }
  std::ranges::stable_sort(updaters, {},
                           [&](const ManagerId& id) { return seconds(managers.at(id).time); });
  std::size_t count = updaters.size();
  std::map<std::string, ManagerId> first_of; // of each version
  for (std::size_t i = 0; i < updaters.size() && count > kMostUpdaters; ++i) {
    const Owned owned = managers.at(updaters[i]);
    const auto [first, is_first] = first_of.emplace(owned.api_version, updaters[i]);
    if (is_first) {
      continue;
    }
    const ManagerId bucket{.manager = std::string(kOldUpdates),
                           .operation = Operation::Update,
                           .api_version = owned.api_version,
                           .subresource = ""};
    if (!managers.contains(bucket)) {
      managers[bucket] = managers.at(first->second);
      managers.erase(first->second);
    }
    Owned& kept = managers.at(bucket);
    kept.fields = FieldSet::united(std::move(kept.fields), owned.fields);
    kept.time = owned.time;
    if (updaters[i] != bucket) {
      managers.erase(updaters[i]);
    }
    --count;
  }
}

namespace {

bool equal_but_times(const json::array& live, const json::array& updated) {
  return std::ranges::equal(live, updated, [](json::value a, json::value b) {
    for (json::value* entry : {&a, &b}) {
      if (entry->is_object()) {
        entry->get_object().erase("time");
      }
    }
    return same_value(a, b);
  });
}

} // namespace

void keep_idle_times(const json::value& live, json::value& updated) {
  const json::value* before = entries_of(live);
  const json::value* after = entries_of(updated);
  if (before == nullptr || after == nullptr || !before->is_array() || !after->is_array() ||
      !equal_but_times(before->get_array(), after->get_array())) {
    return;
  }
  json::value changed = updated;
  metadata(changed)->at("managedFields") = *before;
  if (same_value(live, changed)) {
    updated = std::move(changed);
  }
}

std::string manager_name(std::string_view field_manager, std::string_view user_agent) {
  if (!field_manager.empty()) {
    return std::string(field_manager);
  }
  std::string out;
  for (const char c : user_agent.substr(0, user_agent.find('/'))) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && out.size() < kLongestName) {
      out += c;
    }
  }
  return out.empty() ? "unknown" : out;
}

} // namespace berth::patch
