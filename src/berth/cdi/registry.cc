#include "berth/cdi/registry.h"

#include <set>
#include <utility>

namespace berth::cdi {

void Registry::change(const std::function<void(Files&)>& edit) {
  auto changed = std::make_shared<Files>(*files_);
  edit(*changed);
  files_ = std::move(changed);
}

Result<void> Registry::put(std::string_view file, int priority, Spec spec) {
  BERTH_CHECK(validate(spec));
  change([&](Files& files) {
    files.insert_or_assign(std::string(file), File{priority, std::move(spec)});
  });
  return {};
}

void Registry::remove(std::string_view file) {
  change([&](Files& files) {
    if (const auto it = files.find(file); it != files.end()) {
      files.erase(it);
    }
  });
}

void Registry::clear_dynamic() {
  change([](Files& files) {
    std::erase_if(files, [](const auto& entry) { return entry.second.priority == kDynamic; });
  });
}

Resolved Registry::find(std::string_view qualified) const {
  const auto name = parse_qualified_name(qualified);
  if (!name) {
    return {};
  }
  Resolved best;
  int best_priority = -1;
  bool conflict = false;
  for (const auto& [file, entry] : *files_) {
    if (entry.spec.kind != name->kind || entry.priority < best_priority) {
      continue;
    }
    for (const Device& device : entry.spec.devices) {
      if (device.name != name->device) {
        continue;
      }
      conflict = best.device && entry.priority == best_priority;
      best = {&entry.spec, &device};
      best_priority = entry.priority;
    }
  }
  return conflict ? Resolved{} : best;
}

std::vector<std::string> Registry::names() const {
  std::set<std::string> names;
  for (const auto& [file, entry] : *files_) {
    for (const Device& device : entry.spec.devices) {
      std::string name = qualified_name(entry.spec.kind, device.name);
      if (find(name).device) {
        names.insert(std::move(name));
      }
    }
  }
  return {names.begin(), names.end()};
}

std::vector<Registry::Conflict> Registry::conflicts() const {
  struct Defined {
    int priority = -1;
    std::vector<std::string> files;
  };
  std::map<std::string, Defined> best; // by name, where it is defined with the highest priority
  for (const auto& [file, entry] : *files_) {
    for (const Device& device : entry.spec.devices) {
      Defined& defined = best[qualified_name(entry.spec.kind, device.name)];
      if (entry.priority > defined.priority) {
        defined = {.priority = entry.priority, .files = {}};
      }
      if (entry.priority == defined.priority) {
        defined.files.push_back(file);
      }
    }
  }
  std::vector<Conflict> found;
  for (auto& [name, defined] : best) {
    if (defined.files.size() > 1) {
      found.push_back({.name = name, .files = std::move(defined.files)});
    }
  }
  return found;
}

} // namespace berth::cdi
