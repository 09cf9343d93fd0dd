// One list, watch and cache for any number of informers of the same selection.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/loop.h"
#include "berth/client/backoff.h"
#include "berth/client/client.h"
#include "berth/client/object_cache.h"

namespace berth::client {

/// Lists, watches from there, and on any break lists again after a backoff. To be held by its
/// readers: with the last of them the watch ends.
class InformerSource : public std::enable_shared_from_this<InformerSource> {
 public:
  using OnChange = std::function<void(const api::Object& old, const api::Object& now)>;

  /// Who is told. One that comes when others have been told already is told of everything that is
  /// held, as a later task, and sees nothing before.
  struct Reader {
    OnChange on_change;
    bool caught_up = false; ///< told of all that is held, or there from the beginning
    bool stopped = false;   ///< wants to hear nothing more
    std::vector<Task> when_synced = {};
  };

  /// The client and loop must outlive the source.
  InformerSource(Client& client, Loop& loop, ListOptions what);
  ~InformerSource();
  InformerSource(const InformerSource&) = delete;
  InformerSource& operator=(const InformerSource&) = delete;

  /// The first begins the list.
  void join(const std::shared_ptr<Reader>& reader);
  /// It hears nothing any more.
  void leave(const std::shared_ptr<Reader>& reader);
  /// The last reader has left: nobody can join again.
  bool ended() const { return round_ != 0 && readers_.empty(); }

  bool synced(const Reader& reader) const { return synced_ && reader.caught_up; }
  /// Runs once, as a later task, when (or if) the reader is synced.
  void on_sync(const std::shared_ptr<Reader>& reader, Task task);
  const std::map<api::Key, api::Object>& objects() const { return cache_.objects(); }

 private:
  void list();
  void listed(const Result<ObjectList>& result);
  void watch_from(std::uint64_t revision);
  void happened(const Result<WatchEvent>& event);
  void list_later(const std::string& why);
  void report(const std::vector<Difference>& differences);
  void catch_up(const std::shared_ptr<Reader>& reader);
  static void tell_synced(Reader& reader);

  Client* client_;
  Loop* loop_;
  ListOptions what_;
  ObjectCache cache_;
  Backoff backoff_;
  Timer retry_;
  std::unique_ptr<Watch> watch_;
  std::uint64_t round_ = 0; ///< answers to earlier requests are ignored
  bool begun_ = false;      ///< readers have been told something, or are being told
  bool synced_ = false;
  std::vector<std::shared_ptr<Reader>> readers_; ///< in the order in which they came
};

/// The sources of one client's informers, by selection.
class InformerSources {
 public:
  /// One that is in use, or a new one of this client. O(log kinds).
  std::shared_ptr<InformerSource> of(Client& client, Loop& loop, const ListOptions& what);

 private:
  std::map<GroupKind, std::vector<std::pair<ListOptions, std::weak_ptr<InformerSource>>>> used_;
};

} // namespace berth::client
