#include "berth/node/contents/prepare_container.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/node/contents/cgroup_numbers.h"
#include "berth/node/contents/environment.h"
#include "berth/node/contents/fetch_sources.h"
#include "berth/node/contents/hosts_file.h"
#include "berth/node/contents/mount_wishes.h"
#include "berth/node/contents/references.h"
#include "berth/node/contents/security.h"
#include "berth/node/contents/service_env.h"
#include "berth/node/contents/spec_field.h"
#include "berth/node/contents/termination_message.h"
#include "berth/node/images/registry_login.h"
#include "berth/node/volumes/files.h"
#include "berth/node/volumes/sub_path.h"

namespace berth::node {
namespace {

using client::EventType;

/// How soon a container whose configuration cannot be made is tried again: what is missing may
/// have been created meanwhile.
constexpr Duration kRetry = Duration::seconds(10);
constexpr std::size_t kMostHosts = std::size_t{1} << 20;

// What files of a container are to be made, and where they go. Carried out in the background.
struct FileWork {
  std::vector<MountWish> wishes;
  std::map<std::string, VolumeAt> volumes;
  std::string pod_folder;
  std::string container;
  std::string termination_file;
  std::string termination_path;
  std::string log_folder; ///< the container's
  bool hosts = false;
  bool own_hosts = false; ///< the container mounts something else at /etc/hosts
  api::Object object;
  std::string pod_ip;
};

Result<runtime::Mount> make_mount(const MountWish& wish, const FileWork& work) {
  const auto volume = work.volumes.find(wish.volume);
  if (volume == work.volumes.end()) {
    return fail(Code::Unavailable,
                fmt::format("cannot find volume \"{}\" to mount into container \"{}\"", wish.volume,
                            work.container));
  }
  runtime::Mount mount{.container_path = wish.container_path,
                       .host_path = volume->second.path,
                       .read_only = wish.read_only || volume->second.read_only,
                       .propagation = wish.propagation};
  if (!wish.sub_path.empty()) {
    auto made =
        set_up_sub_path({.volume = volume->second.path,
                         .sub_path = wish.sub_path,
                         .target = fmt::format("{}/volume-subpaths/{}/{}/{}", work.pod_folder,
                                               wish.volume, work.container, wish.index)});
    if (!made) {
      return fail(made.error().code,
                  fmt::format("failed to prepare subPath for volumeMount \"{}\" of container "
                              "\"{}\": {}",
                              wish.volume, work.container, made.error().message));
    }
    mount.host_path = *std::move(made);
  }
  return mount;
}

Result<std::vector<runtime::Mount>> make_files(const FileWork& work) {
  std::vector<runtime::Mount> mounts;
  for (const MountWish& wish : work.wishes) {
    BERTH_TRY(runtime::Mount mount, make_mount(wish, work));
    mounts.push_back(std::move(mount));
  }
  if (work.hosts && !work.own_hosts) {
    const std::string path = fmt::format("{}/etc-hosts", work.pod_folder);
    BERTH_CHECK(make_folder(work.pod_folder, 0750));
    BERTH_CHECK(write_file(path,
                           hosts_file(work.object.json(), work.pod_ip,
                                      read_file("/etc/hosts", kMostHosts).value_or("")),
                           0644));
    mounts.push_back({.container_path = "/etc/hosts", .host_path = path});
  }
  BERTH_CHECK(make_folder(work.termination_file.substr(0, work.termination_file.rfind('/')), 0755));
  // Whoever the container runs as may write its last words.
  BERTH_CHECK(write_file(work.termination_file, "", 0666));
  mounts.push_back({.container_path = work.termination_path, .host_path = work.termination_file});
  BERTH_CHECK(make_folder(work.log_folder, 0755));
  return mounts;
}

// The steps in order; dead once the asker is.
class Preparing : public std::enable_shared_from_this<Preparing> {
 public:
  Preparing(Contents& contents, PreparationOrder order, std::weak_ptr<void> asker,
            std::function<void(Preparation)> done)
      : contents_(&contents), order_(std::move(order)), asker_(std::move(asker)),
        done_(std::move(done)) {}

  void begin() {
    const auto spec = container_spec(document(), order_.container);
    const auto& list =
        order_.role == Role::App ? order_.pod->spec.containers : order_.pod->spec.init_containers;
    const auto view = std::ranges::find(list, order_.container, &model::Container::name);
    if (!spec || view == list.end()) {
      fail_with("CreateContainerConfigError", "container is not in the pod's spec", kRetry);
      return;
    }
    spec_ = spec;
    view_ = &*view;
    std::vector<Reference> wanted = env_references(*spec_);
    for (Reference& each : pull_secret_references(document())) {
      wanted.push_back(std::move(each));
    }
    fetch_sources(client(), *contents_->place().loop, ns(), wanted, shared_from_this(),
                  [self = shared_from_this()](Sources sources) {
                    self->sources_ = std::move(sources);
                    self->fetch_services();
                  });
  }

 private:
  template <class F> auto step(F next) {
    return [self = shared_from_this(), next = std::move(next)](auto&& answer) {
      if (!self->asker_.expired()) {
        next(*self, std::forward<decltype(answer)>(answer));
      }
    };
  }

  const api::json::value& document() const { return order_.object.json(); }
  const std::string& ns() const { return order_.object.meta().ns; }
  client::Client& client() { return *contents_->place().client; }

  // The API server's own service is known to every pod, those of the namespace to those that want
  // links.
  void fetch_services() {
    if (asker_.expired()) {
      return;
    }
    client().get({"", "Service"}, {"default", "kubernetes"},
                 step([](Preparing& self, const Result<api::Object>& found) {
                   if (found) {
                     self.services_.push_back(*found);
                   }
                   self.list_services();
                 }));
  }

  void list_services() {
    if (!bool_at(document(), "spec.enableServiceLinks").value_or(true)) {
      ensure_image();
      return;
    }
    client().list({.kind = {"", "Service"}, .ns = ns()},
                  step([](Preparing& self, const Result<client::ObjectList>& listed) {
                    if (listed) {
                      self.services_.insert(self.services_.begin(), listed->items.begin(),
                                            listed->items.end());
                      self.ensure_image();
                    } else {
                      self.fail_with("CreateContainerConfigError",
                                     "services have not yet been read at least once, cannot "
                                     "construct envvars: " +
                                         listed.error().message,
                                     kRetry);
                    }
                  }));
  }

  void ensure_image() {
    const auto name = parse_image_name(view_->image);
    if (!name) {
      const std::string message = fmt::format("Failed to apply default image tag \"{}\": {}",
                                              view_->image, name.error().message);
      order_.tell(EventType::Warning, "InspectFailed", message);
      order_.tell(EventType::Warning, "Failed", "Error: InvalidImageName");
      fail_with("InvalidImageName", message, kRetry);
      return;
    }
    contents_->images().ensure({.pod_uid = order_.pod->meta.uid,
                                .image = view_->image,
                                .policy = pull_policy(*spec_, *name),
                                .logins = logins_for(*name, all_logins()),
                                .tell = order_.tell},
                               asker_, step([](Preparing& self, const ImageAnswer& answer) {
                                 self.image_answered(answer);
                               }));
  }

  std::vector<runtime::RegistryLogin> all_logins() {
    std::vector<runtime::RegistryLogin> all;
    for (const Reference& each : pull_secret_references(document())) {
      const auto secret = sources_.get(each.source);
      if (!secret) {
        order_.tell(EventType::Warning, "FailedToRetrieveImagePullSecret",
                    fmt::format("Unable to retrieve some image pull secrets ({}); attempting to "
                                "pull the image may not succeed.",
                                each.source.name));
        continue;
      }
      if (auto logins = logins_in(*secret)) {
        all.insert(all.end(), logins->begin(), logins->end());
      } else {
        order_.tell(EventType::Warning, "FailedToRetrieveImagePullSecret", logins.error().message);
      }
    }
    return all;
  }

  void image_answered(const ImageAnswer& answer) {
    if (!answer.there()) {
      fail_with(answer.why.reason, answer.why.message, answer.retry_after);
      return;
    }
    made_.image = answer.id;
    runtime::Images* images = contents_->place().runtime->images();
    if (!images || !needs_image_user(document(), *spec_)) {
      configure({});
      return;
    }
    images->user_of(view_->image, step([](Preparing& self, const Result<runtime::ImageUser>& user) {
                      if (user) {
                        self.configure(*user);
                      } else {
                        self.fail_config(user.error());
                      }
                    }));
  }

  void configure(const runtime::ImageUser& image_user) {
    auto made = decide(image_user);
    if (!made) {
      fail_config(made.error());
      return;
    }
    auto work = std::make_shared<FileWork>(*std::move(made));
    auto outcome = std::make_shared<Result<std::vector<runtime::Mount>>>();
    contents_->place().background->run([work, outcome] { *outcome = make_files(*work); },
                                       [self = shared_from_this(), outcome] {
                                         if (!self->asker_.expired()) {
                                           self->finish(*outcome);
                                         }
                                       });
  }

  // All that needs no more asking; what is left to be done on the disk is the value.
  Result<FileWork> decide(const runtime::ImageUser& image_user) {
    const std::string& root = contents_->options().kubelet_root;
    BERTH_TRY(made_.env, full_environment(document(), *spec_, *order_.pod,
                                          {.sources = &sources_,
                                           .address = order_.address,
                                           .allocatable = order_.amounts.allocatable,
                                           .services = service_env(services_)}));
    BERTH_TRY(made_.security,
              container_security(document(), *spec_, *order_.pod, image_user, root));
    made_.resources =
        cgroup_numbers(*order_.pod, *view_, order_.role, order_.amounts.memory_bytes());
    made_.log_path = fmt::format("{}/{}.log", order_.container, order_.attempt);
    const std::string& uid = order_.pod->meta.uid;
    FileWork work{.volumes = order_.volumes,
                  .pod_folder = pod_folder(root, uid),
                  .container = order_.container,
                  .termination_file = termination_file(root, uid, order_.container, order_.attempt),
                  .termination_path = termination_path(*spec_),
                  .log_folder =
                      fmt::format("{}/{}", contents_->log_folder(*order_.pod), order_.container),
                  .hosts = wants_hosts_file(document()),
                  .object = order_.object,
                  .pod_ip = order_.address.pod_ip};
    BERTH_TRY(work.wishes, mount_wishes(*spec_, made_.env));
    work.own_hosts = std::ranges::find(work.wishes, "/etc/hosts", &MountWish::container_path) !=
                     work.wishes.end();
    return work;
  }

  void finish(const Result<std::vector<runtime::Mount>>& mounts) {
    if (!mounts) {
      fail_config(mounts.error());
      return;
    }
    made_.mounts = *mounts;
    done_({.contents = std::move(made_)});
  }

  void fail_config(const Error& error) {
    order_.tell(EventType::Warning, "Failed", fmt::format("Error: {}", error.message));
    fail_with("CreateContainerConfigError", error.message, kRetry);
  }

  void fail_with(std::string reason, std::string message, Duration retry_after) {
    if (!asker_.expired()) {
      done_({.why = {std::move(reason), std::move(message)}, .retry_after = retry_after});
    }
  }

  Contents* contents_;
  PreparationOrder order_;
  std::weak_ptr<void> asker_;
  std::function<void(Preparation)> done_;
  const api::json::value* spec_ = nullptr; ///< of the container, in the pod's document
  const model::Container* view_ = nullptr; ///< of it, in the pod's view
  Sources sources_;
  std::vector<api::Object> services_;
  ContainerContents made_;
};

} // namespace

void prepare_container(Contents& contents, PreparationOrder order, std::weak_ptr<void> asker,
                       std::function<void(Preparation)> done) {
  contents.place().loop->post(
      [preparing = std::make_shared<Preparing>(contents, std::move(order), std::move(asker),
                                               std::move(done))] { preparing->begin(); });
}

} // namespace berth::node
