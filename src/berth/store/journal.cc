#include "berth/store/journal.h"

#include <algorithm>
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
    if (kept_ && claimed_ > last_ && last_ != 0) {
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

  Result<void> write(const Batch& batch) override {
    BERTH_CHECK(file_.run("BEGIN IMMEDIATE"));
    auto written = write_changes(batch);
    if (written) {
      written = file_.run("COMMIT");
    }
    kept_ = written.has_value();
    if (!kept_) {
      (void)file_.run("ROLLBACK"); // SQLite may have done so by itself
      return written;
    }
    claimed_ = claim(batch.revision());
    last_ = batch.revision();
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
  Result<void> write_changes(const Batch& batch) {
    for (const auto& [at, entry] : batch.entries()) {
      if (!write(at.first, at.second, entry.now)) {
        return file_.problem("writing");
      }
    }
    BERTH_CHECK(write_meta("revision", batch.revision()));
    const std::uint64_t claimed = claim(batch.revision());
    return claimed > claimed_ ? write_meta("claimed", claimed) : Result<void>();
  }

  bool write(const GroupKind& kind, const api::Key& key, const api::Object& now) {
    sqlite3_stmt* const statement = now ? put_.get() : erase_.get();
    const std::string name = kind_key(kind);
    bind_text(statement, 1, name);
    bind_text(statement, 2, key.ns);
    bind_text(statement, 3, key.name);
    if (now) {
      sqlite3_bind_int64(statement, 4, static_cast<sqlite3_int64>(now.meta().resource_version));
      const std::string& bytes = now.bytes();
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
  std::uint64_t claim(std::uint64_t revision) const {
    return revision + kBlock / 2 > claimed_ ? revision + kBlock : claimed_;
  }

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
  std::uint64_t last_ = 0; ///< revision that the file has
  std::uint64_t claimed_ = 0;
  bool kept_ = true; ///< the last batch is in the file
  int since_look_ = 0;
};

} // namespace

Batch::Entry& Batch::entry_of(const api::Object& object, api::Object before) {
  revision_ = object.meta().resource_version;
  return entries_
      .try_emplace({group_kind(object), object.key()},
                   Entry{.before = std::move(before), .now = {}})
      .first->second;
}

void Batch::put(const api::Object& now, api::Object before) {
  (void)now.bytes(); // made here, so that whoever writes the batch, on another thread, finds them
  entry_of(now, std::move(before)).now = now;
}

void Batch::erase(const api::Object& last, api::Object before) {
  entry_of(last, std::move(before)).now = {};
}

void Batch::add_older(const Batch& older) {
  for (const auto& [at, entry] : older.entries_) {
    if (const auto [mine, is_new] = entries_.try_emplace(at, entry); !is_new) {
      mine->second.before = entry.before;
    }
  }
  revision_ = std::max(revision_, older.revision_);
}

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path) {
  BERTH_TRY(SqliteFile file, SqliteFile::open(path, SqliteFile::Access::Write));
  BERTH_TRY(WriterLock lock, WriterLock::take(path));
  auto journal = std::make_unique<SqliteJournal>(std::move(lock), std::move(file));
  BERTH_CHECK(journal->prepare());
  return std::unique_ptr<Journal>(std::move(journal));
}

} // namespace berth::store
