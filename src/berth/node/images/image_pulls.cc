#include "berth/node/images/image_pulls.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace berth::node {
namespace {

using client::EventType;

constexpr Duration kFirstDelay = Duration::seconds(10);
constexpr Duration kLastDelay = Duration::seconds(300);
/// How long a status shows the error itself before it shows the back-off that follows.
constexpr Duration kShowError = Duration::seconds(3);
/// After a failure that was so long ago a new one counts as the first.
constexpr Duration kForgotten = kLastDelay * 2;

struct Failing {
  Duration delay;
  TimePoint until;
  std::string error;
};

} // namespace

struct ImagePulls::State : std::enable_shared_from_this<State> {
  struct Job {
    ImageOrder order;
    std::weak_ptr<void> asker;
    std::function<void(ImageAnswer)> done;
    TimePoint asked;
    TimePoint begun;
    std::size_t login = 0; ///< the one that is tried

    bool wanted() const { return !asker.expired(); }
    std::pair<std::string, std::string> key() const { return {order.pod_uid, order.image}; }
  };
  using JobPtr = std::shared_ptr<Job>;

  Loop* loop = nullptr;
  runtime::Images* images = nullptr;
  std::deque<JobPtr> queue; ///< the first is being pulled
  std::map<std::pair<std::string, std::string>, Failing> failing;

  template <class F> auto step(JobPtr job, F next) {
    return [weak = weak_from_this(), job = std::move(job), next = std::move(next)](auto&& answer) {
      if (const auto self = weak.lock()) {
        next(*self, job, std::forward<decltype(answer)>(answer));
      }
    };
  }

  void look(const JobPtr& job) {
    images->find(job->order.image, step(job, [](State& self, const JobPtr& of,
                                                const Result<std::optional<std::string>>& found) {
                   if (of->wanted()) {
                     self.found(of, found);
                   }
                 }));
  }

  void found(const JobPtr& job, const Result<std::optional<std::string>>& found) {
    const ImageOrder& order = job->order;
    if (!found) {
      const bool bad = found.error().code == Code::Invalid;
      refuse(
          job,
          {bad ? "InvalidImageName" : "ImageInspectError",
           fmt::format("Failed to inspect image \"{}\": {}", order.image, found.error().message)},
          "InspectFailed");
      return;
    }
    if (*found && order.policy != PullPolicy::Always) {
      order.tell(EventType::Normal, "Pulled",
                 fmt::format("Container image \"{}\" already present on machine", order.image));
      failing.erase(job->key());
      job->done({.id = **found});
      return;
    }
    if (order.policy == PullPolicy::Never) {
      refuse(job,
             {"ErrImageNeverPull",
              fmt::format("Container image \"{}\" is not present with pull policy of Never",
                          order.image)},
             "ErrImageNeverPull");
      return;
    }
    if (!backing_off(job)) {
      queue.push_back(job);
      if (queue.size() == 1) {
        begin();
      }
    }
  }

  // A failure of which the status alone tells how it goes on.
  void refuse(const JobPtr& job, Reason why, std::string_view event) {
    job->order.tell(EventType::Warning, event, why.message);
    job->order.tell(EventType::Warning, "Failed", fmt::format("Error: {}", why.reason));
    job->done({.why = std::move(why), .retry_after = kFirstDelay});
  }

  bool backing_off(const JobPtr& job) {
    const auto known = failing.find(job->key());
    if (known == failing.end() || known->second.until <= loop->now()) {
      return false;
    }
    const std::string& image = job->order.image;
    job->order.tell(EventType::Normal, "BackOff",
                    fmt::format("Back-off pulling image \"{}\"", image));
    job->order.tell(EventType::Warning, "Failed", "Error: ImagePullBackOff");
    job->done(
        {.why = {"ImagePullBackOff", fmt::format("Back-off pulling image \"{}\": ErrImagePull: {}",
                                                 image, known->second.error)},
         .retry_after = known->second.until - loop->now()});
    return true;
  }

  // Pulls what is first in the queue; who is gone is passed over.
  void begin() {
    while (!queue.empty() && !queue.front()->wanted()) {
      queue.pop_front();
    }
    if (queue.empty()) {
      return;
    }
    const JobPtr job = queue.front();
    job->begun = loop->now();
    job->order.tell(EventType::Normal, "Pulling",
                    fmt::format("Pulling image \"{}\"", job->order.image));
    pull(job);
  }

  void pull(const JobPtr& job) {
    const auto& logins = job->order.logins;
    images->pull(job->order.image,
                 job->login < logins.size() ? logins[job->login] : runtime::RegistryLogin(),
                 step(job, [](State& self, const JobPtr& of, const Result<std::string>& id) {
                   self.pulled(of, id);
                 }));
  }

  void pulled(const JobPtr& job, const Result<std::string>& id) {
    if (!id && job->wanted() && job->login + 1 < job->order.logins.size()) {
      ++job->login;
      pull(job);
      return;
    }
    queue.pop_front();
    if (job->wanted()) {
      tell_outcome(job, id);
    }
    begin();
  }

  void tell_outcome(const JobPtr& job, const Result<std::string>& id) {
    const std::string& image = job->order.image;
    if (id) {
      failing.erase(job->key());
      job->order.tell(EventType::Normal, "Pulled",
                      fmt::format("Successfully pulled image \"{}\" in {} ({} including waiting)",
                                  image, to_string(rounded(loop->now() - job->begun)),
                                  to_string(rounded(loop->now() - job->asked))));
      job->done({.id = *id});
      return;
    }
    const TimePoint now = loop->now();
    std::erase_if(failing, [&](const auto& each) { return each.second.until + kForgotten < now; });
    Failing& entry = failing[job->key()];
    entry.delay = entry.delay == Duration() ? kFirstDelay : std::min(entry.delay * 2, kLastDelay);
    entry.until = now + entry.delay;
    entry.error = id.error().message;
    job->order.tell(EventType::Warning, "Failed",
                    fmt::format("Failed to pull image \"{}\": {}", image, id.error().message));
    job->order.tell(EventType::Warning, "Failed", "Error: ErrImagePull");
    job->done({.why = {"ErrImagePull", id.error().message}, .retry_after = kShowError});
  }

  static Duration rounded(Duration span) { return Duration::millis(span.count_millis()); }
};

ImagePulls::ImagePulls(Loop& loop, runtime::Images* images) : state_(std::make_shared<State>()) {
  state_->loop = &loop;
  state_->images = images;
}

ImagePulls::~ImagePulls() = default;

void ImagePulls::ensure(ImageOrder order, std::weak_ptr<void> asker,
                        std::function<void(ImageAnswer)> done) {
  auto job = std::make_shared<State::Job>(
      State::Job{.order = std::move(order), .asker = std::move(asker), .done = std::move(done)});
  job->asked = state_->loop->now();
  if (state_->images) {
    state_->look(job);
    return;
  }
  state_->loop->post([job] {
    if (job->wanted()) {
      job->done({});
    }
  });
}

} // namespace berth::node
