#include "berth/store/validation/pod_volumes.h"

#include <algorithm>
#include <array>
#include <set>

#include "berth/api/quantity.h"
#include "berth/store/naming.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/storage.h"

namespace berth::store {
namespace {

constexpr std::int64_t kShortestToken = 600;
constexpr std::int64_t kLongestToken = std::int64_t{1} << 32;
constexpr std::int64_t kHighestLun = 255;

void check_key_to_path(const Judged& item) {
  item["key"].need_text();
  if (item["path"].need_text()) {
    check_local_path(item["path"]);
  }
  check_file_mode(item["mode"]);
}

void check_host_path(const Judged& source) {
  if (!source["path"].need_text()) {
    return;
  }
  check_no_backsteps(source["path"]);
  source["type"].one_of({"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
                         "FileOrCreate", "Socket"});
}

void check_empty_dir(const Judged& source) {
  const auto limit = api::Quantity::parse(source.text("sizeLimit"));
  if (source.has("sizeLimit") && limit && limit->sign() < 0) {
    source["sizeLimit"].forbidden("SizeLimit field must be a valid resource quantity");
  }
}

void check_secret(const Judged& source) {
  source["secretName"].need_text();
  check_file_mode(source["defaultMode"]);
  source.each("items", check_key_to_path);
}

void check_config_map(const Judged& source) {
  source["name"].need_text();
  check_file_mode(source["defaultMode"]);
  source.each("items", check_key_to_path);
}

void check_nfs(const Judged& source) {
  source["server"].need_text();
  if (source["path"].need_text() && !source.text("path").starts_with('/')) {
    source["path"].invalid("must be an absolute path");
  }
}

void check_downward_file(const Judged& file) {
  file["path"].need_text();
  if (file.has("path")) {
    check_local_path(file["path"]);
  }
  if (file.has("fieldRef")) {
    check_field_reference(file["fieldRef"],
                          {"metadata.annotations", "metadata.labels", "metadata.name",
                           "metadata.namespace", "metadata.uid"});
    if (file.has("resourceFieldRef")) {
      file.invalid("\"resource\"",
                   "fieldRef and resourceFieldRef can not be specified simultaneously");
    }
  } else if (file.has("resourceFieldRef")) {
    check_resource_reference(file["resourceFieldRef"], true);
  } else {
    file.required("one of fieldRef and resourceFieldRef is required");
  }
  check_file_mode(file["mode"]);
}

void check_downward(const Judged& source) {
  check_file_mode(source["defaultMode"]);
  source.each("items", check_downward_file);
}

void check_token(const Judged& token) {
  const std::int64_t seconds = token.number("expirationSeconds").value_or(kShortestToken);
  if (seconds < kShortestToken) {
    token["expirationSeconds"].invalid("may not specify a duration less than 10 minutes");
  } else if (seconds > kLongestToken) {
    token["expirationSeconds"].invalid("may not specify a duration larger than 2^32 seconds");
  }
  token["path"].need_text();
  check_local_path(token["path"]);
}

void check_projected(const Judged& source) {
  check_file_mode(source["defaultMode"]);
  std::set<std::string> paths;
  const auto claim = [&](const Judged& named, std::string_view path) {
    if (!path.empty() && !paths.emplace(path).second) {
      source.invalid(quote(named.text("name")), "conflicting duplicate paths");
    }
  };
  source.each("sources", [&](const Judged& one) {
    bool first = true;
    const auto counted = [&](std::string_view member) {
      if (!one.has(member)) {
        return false;
      }
      if (!first) {
        one[member].forbidden("may not specify more than 1 volume type");
        return false;
      }
      first = false;
      return true;
    };
    for (const std::string_view files : {"secret", "configMap"}) {
      if (counted(files)) {
        const Judged projection = one[files];
        projection["name"].need_text();
        projection.each("items", [&](const Judged& item) {
          check_key_to_path(item);
          claim(projection, item.text("path"));
        });
      }
    }
    if (counted("downwardAPI")) {
      one["downwardAPI"].each("items", [&](const Judged& item) {
        check_downward_file(item);
        claim(one["downwardAPI"], item.text("path"));
      });
    }
    if (counted("serviceAccountToken")) {
      check_token(one["serviceAccountToken"]);
      claim(one["serviceAccountToken"], one["serviceAccountToken"].text("path"));
    }
  });
}

void check_iscsi(const Judged& source) {
  source["targetPortal"].need_text();
  source["iqn"].need_text();
  if (const auto lun = source.number("lun"); lun && (*lun < 0 || *lun > kHighestLun)) {
    source["lun"].invalid("must be between 0 and 255, inclusive");
  }
}

void check_csi(const Judged& source) {
  if (source["driver"].need_text()) {
    check_csi_driver_name(source["driver"]);
  }
  if (source.has("nodePublishSecretRef")) {
    source["nodePublishSecretRef"]["name"].need_text();
  }
}

void check_ephemeral(const Judged& source) {
  if (!source.has("volumeClaimTemplate")) {
    source["volumeClaimTemplate"].required();
    return;
  }
  check_claim_spec(source["volumeClaimTemplate"]["spec"]);
}

/// Sources that are right when these texts are there.
template <const auto& kMembers> void need_all(const Judged& source) {
  for (const std::string_view member : kMembers) {
    source[member].need_text();
  }
}
constexpr std::array<std::string_view, 1> kOfGitRepo = {"repository"};
constexpr std::array<std::string_view, 1> kOfGcePd = {"pdName"};
constexpr std::array<std::string_view, 1> kOfEbs = {"volumeID"};
constexpr std::array<std::string_view, 1> kOfClaim = {"claimName"};
constexpr std::array<std::string_view, 2> kOfGlusterfs = {"endpoints", "path"};
constexpr std::array<std::string_view, 1> kOfRbd = {"image"};
constexpr std::array<std::string_view, 2> kOfAzureFile = {"secretName", "shareName"};
constexpr std::array<std::string_view, 2> kOfAzureDisk = {"diskName", "diskURI"};
constexpr std::array<std::string_view, 1> kOfVsphere = {"volumePath"};
constexpr std::array<std::string_view, 1> kOfVolumeId = {"volumeID"};

void check_nothing(const Judged& /*source*/) {}

struct Source {
  std::string_view name;
  void (*check)(const Judged& source);
};
/// In the order in which they are looked at.
constexpr std::array<Source, 28> kSources = {{
    {"emptyDir", &check_empty_dir},
    {"hostPath", &check_host_path},
    {"gitRepo", &need_all<kOfGitRepo>},
    {"gcePersistentDisk", &need_all<kOfGcePd>},
    {"awsElasticBlockStore", &need_all<kOfEbs>},
    {"secret", &check_secret},
    {"nfs", &check_nfs},
    {"iscsi", &check_iscsi},
    {"glusterfs", &need_all<kOfGlusterfs>},
    {"flocker", &check_nothing},
    {"persistentVolumeClaim", &need_all<kOfClaim>},
    {"rbd", &need_all<kOfRbd>},
    {"cinder", &need_all<kOfVolumeId>},
    {"cephfs", &check_nothing},
    {"quobyte", &check_nothing},
    {"downwardAPI", &check_downward},
    {"fc", &check_nothing},
    {"azureFile", &need_all<kOfAzureFile>},
    {"configMap", &check_config_map},
    {"vsphereVolume", &need_all<kOfVsphere>},
    {"photonPersistentDisk", &check_nothing},
    {"portworxVolume", &need_all<kOfVolumeId>},
    {"azureDisk", &need_all<kOfAzureDisk>},
    {"storageos", &check_nothing},
    {"projected", &check_projected},
    {"scaleIO", &check_nothing},
    {"csi", &check_csi},
    {"ephemeral", &check_ephemeral},
}};

void check_source(const Judged& volume) {
  bool first = true;
  for (const Source& source : kSources) {
    if (!volume.has(source.name)) {
      continue;
    }
    const Judged given = volume[source.name];
    if (first) {
      source.check(given);
      first = false;
    } else {
      given.forbidden("may not specify more than 1 volume type");
    }
  }
  if (first && !volume.has("image")) {
    volume.required("must specify a volume type");
  }
}

} // namespace

Volumes check_volumes(const Judged& spec) {
  Volumes sound;
  std::set<std::string, std::less<>> names;
  spec.each("volumes", [&](const Judged& volume) {
    const std::size_t before = spec.errors().size();
    check_source(volume);
    const Judged name = volume["name"];
    if (name.need_text()) {
      name.dns_label();
    }
    if (names.contains(name.text())) {
      name.duplicate();
    }
    if (spec.errors().size() == before) {
      names.emplace(name.text());
      sound.emplace(name.text(), volume.json());
    }
  });
  return sound;
}

void check_projected_tokens(const Judged& spec) {
  if (!spec.text("serviceAccountName").empty()) {
    return;
  }
  spec.each("volumes", [](const Judged& volume) {
    if (volume.has("projected")) {
      volume["projected"].each("sources", [](const Judged& source) {
        if (source.has("serviceAccountToken")) {
          source["serviceAccountToken"].forbidden(
              "must not be specified when serviceAccountName is not set");
        }
      });
    }
  });
}

void check_field_reference(const Judged& reference, const std::vector<std::string>& supported) {
  static constexpr std::array<std::string_view, 14> kLabels = {
      "metadata.annotations", "metadata.labels",    "metadata.name",
      "metadata.namespace",   "metadata.uid",       "spec.nodeName",
      "spec.restartPolicy",   "spec.schedulerName", "spec.serviceAccountName",
      "status.hostIP",        "status.hostIPs",     "status.phase",
      "status.podIP",         "status.podIPs"};
  if (!reference["apiVersion"].need_text() || !reference["fieldPath"].need_text()) {
    return;
  }
  const Judged path = reference["fieldPath"];
  const std::string_view text = path.text();
  if (const auto version = reference.text("apiVersion"); version != "v1") {
    path.invalid(fmt::format("error converting fieldPath: unsupported pod version: {}", version));
    return;
  }
  const std::size_t bracket = text.find("['");
  if (bracket != std::string_view::npos && text.ends_with("']")) {
    const std::string_view whole = text.substr(0, bracket);
    const std::string_view subscript = text.substr(bracket + 2, text.size() - bracket - 4);
    std::string name(subscript);
    if (whole == "metadata.annotations") {
      std::ranges::transform(name, name.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    } else if (whole != "metadata.labels") {
      path.invalid(fmt::format(
          "error converting fieldPath: field label does not support subscript: {}", text));
      return;
    }
    for (const std::string& why : qualified_name_errors(name)) {
      reference.invalid(quote(subscript), why);
    }
    return;
  }
  if (std::ranges::find(kLabels, text) == kLabels.end()) {
    path.invalid(fmt::format("error converting fieldPath: field label not supported: {}", text));
  } else if (std::ranges::find(supported, text) == supported.end()) {
    path.unsupported(supported);
  }
}

void check_resource_reference(const Judged& reference, bool of_volume) {
  static const std::vector<std::string> kResources = {
      "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
      "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
  const std::string_view resource = reference.text("resource");
  if (of_volume && reference.text("containerName").empty()) {
    reference["containerName"].required();
  } else if (resource.empty()) {
    reference["resource"].required();
  } else if (!resource.starts_with("limits.hugepages-") &&
             !resource.starts_with("requests.hugepages-") &&
             std::ranges::find(kResources, resource) == kResources.end()) {
    reference["resource"].unsupported(kResources);
  }
  const std::string_view divisor = reference.text("divisor");
  if (resource.ends_with(".cpu") && !divisor.empty() && divisor != "0" && divisor != "1" &&
      divisor != "1m") {
    reference["divisor"].invalid(quote(resource),
                                 "only divisor's values 1m and 1 are supported with the cpu "
                                 "resource");
  }
  static constexpr std::array<std::string_view, 15> kUnits = {
      "", "0", "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};
  const bool of_memory = resource.ends_with(".memory");
  if ((of_memory || resource.ends_with(".ephemeral-storage")) &&
      std::ranges::find(kUnits, divisor) == kUnits.end()) {
    reference["divisor"].invalid(
        quote(resource),
        fmt::format("only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei "
                    "are supported with the {} resource",
                    of_memory ? "memory" : "local ephemeral storage"));
  }
}

} // namespace berth::store
