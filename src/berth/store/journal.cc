#include "berth/store/journal.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "berth/store/sqlite_file.h"
#include "berth/store/writer_lock.h"

namespace berth::store {
namespace {

constexpr int kFormat = 1; // PRAGMA user_version
/// Revisions are claimed in blocks: one that was shown and then lost in a crash is never given to
/// another write.
constexpr std::uint64_t kBlock = 100'000;
constexpr std::int64_t kSpare = 1024;       // pages of 4 KiB that may lie idle in the file
constexpr int kGivenBack = 256;             // pages a commit, so that none takes long
constexpr int kLogBytes = 16 * 1024 * 1024; // what a checkpoint leaves of the write-ahead log
constexpr int kRoomBytes = 256 * 1024;

std::string kind_key(const GroupKind& kind) {
  return kind.group.empty() ? kind.kind : kind.kind + "." + kind.group;
}

class SqliteJournal final : public Journal {
 public:
  SqliteJournal(WriterLock lock, SqliteFile file)
      : lock_(std::move(lock)), file_(std::move(file)) {}

  /// Says that no number above the last was shown.
  ~SqliteJournal() override {
    if (claimed_ > last_ && changes_.empty() && last_ != 0) {
      (void)write_meta("claimed", last_);
    }
  }
  SqliteJournal(const SqliteJournal&) = delete;
  SqliteJournal& operator=(const SqliteJournal&) = delete;

  Result<void> prepare() {
    BERTH_CHECK(file_.run("PRAGMA auto_vacuum = INCREMENTAL"));
    BERTH_CHECK(file_.run("PRAGMA journal_mode = WAL"));
    BERTH_CHECK(file_.run("PRAGMA synchronous = FULL"));
    BERTH_CHECK(file_.run(fmt::format("PRAGMA journal_size_limit = {}", kLogBytes)));
    BERTH_TRY(const std::int64_t format, file_.number("PRAGMA user_version"));
    if (format > kFormat) {
      return fail(Code::Unavailable,
                  fmt::format("{}: written by a newer berth (format {}, this one reads up to {})",
                              file_.path(), format, kFormat));
    }
    BERTH_TRY(const std::int64_t shrinks, file_.number("PRAGMA auto_vacuum"));
    if (shrinks == 0) { // of a Berth that did not give room back
      BERTH_CHECK(file_.run("VACUUM"));
    }
    BERTH_CHECK(file_.run("BEGIN IMMEDIATE"));
    BERTH_CHECK(
        file_.run("CREATE TABLE IF NOT EXISTS objects (kind TEXT, namespace TEXT, name TEXT, "
                  "revision INTEGER, document BLOB, PRIMARY KEY (kind, namespace, name)) "
                  "WITHOUT ROWID"));
    BERTH_CHECK(file_.run("CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value)"));
    BERTH_CHECK(file_.run(fmt::format("PRAGMA user_version = {}", kFormat)));
    BERTH_CHECK(file_.run("COMMIT"));
    BERTH_TRY(put_, file_.statement("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)"));
    BERTH_TRY(erase_, file_.statement("DELETE FROM objects WHERE kind = ? AND namespace = ? "
                                      "AND name = ?"));
    BERTH_TRY(meta_, file_.statement("INSERT OR REPLACE INTO meta VALUES (?, ?)"));
    return {};
  }

  Result<Journaled> load() override {
    Journaled found;
    BERTH_TRY(const std::int64_t revision,
              file_.number("SELECT coalesce(max(value), 0) FROM meta WHERE name IN "
                           "('revision', 'claimed')"));
    found.revision = static_cast<std::uint64_t>(revision);
    last_ = claimed_ = found.revision;
    BERTH_TRY(const Statement all,
              file_.statement("SELECT kind, namespace, name, document FROM objects"));
    int step = sqlite3_step(all.get());
    for (; step == SQLITE_ROW; step = sqlite3_step(all.get())) {
      auto object = api::Object::parse(std::string(column_bytes(all.get(), 3)));
      if (!object) {
        return fail(Code::Unavailable,
                    fmt::format("{}: {} {}/{} cannot be read: {}", file_.path(),
                                column_bytes(all.get(), 0), column_bytes(all.get(), 1),
                                column_bytes(all.get(), 2), to_string(object.error())));
      }
      found.objects.push_back(*std::move(object));
    }
    if (step != SQLITE_DONE) {
      return file_.problem("reading");
    }
    return found;
  }

  void put(const api::Object& object) override {
    changes_[{kind_key(group_kind(object)), object.meta().ns, object.meta().name}] = object;
    last_ = object.meta().resource_version;
  }
  void erase(const GroupKind& kind, const api::Key& key, std::uint64_t revision) override {
    changes_[{kind_key(kind), key.ns, key.name}] = std::nullopt;
    last_ = revision;
  }

  Result<void> commit() override {
    if (changes_.empty()) {
      return {};
    }
    BERTH_CHECK(file_.run("BEGIN IMMEDIATE"));
    auto written = write_changes();
    if (written) {
      written = file_.run("COMMIT");
    }
    if (!written) {
      (void)file_.run("ROLLBACK"); // SQLite may have done so by itself
      return written;
    }
    claimed_ = std::max(claimed_, claim());
    changes_.clear();
    give_back();
    return {};
  }

  Result<void> try_room() override {
    auto taken = file_.run(fmt::format(
        "BEGIN IMMEDIATE; INSERT OR REPLACE INTO meta VALUES ('room', zeroblob({})); COMMIT",
        kRoomBytes));
    if (!taken) {
      (void)file_.run("ROLLBACK");
      return taken;
    }
    return file_.run("DELETE FROM meta WHERE name = 'room'");
  }

 private:
  using ChangeKey = std::tuple<std::string, std::string, std::string>; ///< kind, namespace, name

  Result<void> write_changes() {
    for (const auto& [key, object] : changes_) {
      if (!write(key, object)) {
        return file_.problem("writing");
      }
    }
    BERTH_CHECK(write_meta("revision", last_));
    return claim() > claimed_ ? write_meta("claimed", claim()) : Result<void>();
  }

  bool write(const ChangeKey& key, const std::optional<api::Object>& object) {
    sqlite3_stmt* const statement = object ? put_.get() : erase_.get();
    bind_text(statement, 1, std::get<0>(key));
    bind_text(statement, 2, std::get<1>(key));
    bind_text(statement, 3, std::get<2>(key));
    if (object) {
      sqlite3_bind_int64(statement, 4, static_cast<sqlite3_int64>(object->meta().resource_version));
      const std::string& bytes = object->bytes();
      sqlite3_bind_blob(statement, 5, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
    }
    return finish(statement);
  }

  Result<void> write_meta(std::string_view name, std::uint64_t value) {
    bind_text(meta_.get(), 1, name);
    sqlite3_bind_int64(meta_.get(), 2, static_cast<sqlite3_int64>(value));
    return finish(meta_.get()) ? Result<void>() : file_.problem("writing");
  }

  /// Up to where numbers are to be claimed: half a block ahead at least.
  std::uint64_t claim() const { return last_ + kBlock / 2 > claimed_ ? last_ + kBlock : claimed_; }

  /// Pages of what has gone, a few at a time. A failure is none: they are given back next time.
  void give_back() {
    if (++since_look_ < kGivenBack / 16) {
      return;
    }
    since_look_ = 0;
    const auto idle = file_.number("PRAGMA freelist_count");
    if (idle && *idle > kSpare) {
      (void)file_.run(fmt::format("PRAGMA incremental_vacuum({})", kGivenBack));
    }
  }

  WriterLock lock_;
  SqliteFile file_;
  Statement put_;
  Statement erase_;
  Statement meta_;
  std::map<ChangeKey, std::optional<api::Object>> changes_; ///< the last of each object
  std::uint64_t last_ = 0;
  std::uint64_t claimed_ = 0;
  int since_look_ = 0;
};

} // namespace

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path) {
  BERTH_TRY(SqliteFile file, SqliteFile::open(path, SqliteFile::Access::Write));
  BERTH_TRY(WriterLock lock, WriterLock::take(path));
  auto journal = std::make_unique<SqliteJournal>(std::move(lock), std::move(file));
  BERTH_CHECK(journal->prepare());
  return std::unique_ptr<Journal>(std::move(journal));
}

} // namespace berth::store
