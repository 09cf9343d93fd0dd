#include "berth/store/journal.h"

#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

namespace berth::store {
namespace {

constexpr int kFormat = 1; // PRAGMA user_version
constexpr int kBusyMillis = 2000;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

std::string kind_key(const GroupKind& kind) {
  return kind.group.empty() ? kind.kind : kind.kind + "." + kind.group;
}

void bind_text(sqlite3_stmt* statement, int at, std::string_view text) {
  sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

std::string_view column(sqlite3_stmt* statement, int at) {
  return {static_cast<const char*>(sqlite3_column_blob(statement, at)),
          static_cast<std::size_t>(sqlite3_column_bytes(statement, at))};
}

class SqliteJournal final : public Journal {
 public:
  SqliteJournal(Database database, std::string path)
      : database_(std::move(database)), path_(std::move(path)) {}

  Result<void> prepare() {
    BERTH_CHECK(run("PRAGMA locking_mode = EXCLUSIVE"));
    BERTH_CHECK(run("PRAGMA journal_mode = WAL"));
    BERTH_CHECK(run("PRAGMA synchronous = FULL"));
    BERTH_TRY(const int format, number("PRAGMA user_version"));
    if (format > kFormat) {
      return fail(Code::Unavailable,
                  fmt::format("{}: written by a newer berth (format {}, this one reads up to {})",
                              path_, format, kFormat));
    }
    BERTH_CHECK(run("BEGIN IMMEDIATE"));
    BERTH_CHECK(run("CREATE TABLE IF NOT EXISTS objects (kind TEXT, namespace TEXT, name TEXT, "
                    "revision INTEGER, document BLOB, PRIMARY KEY (kind, namespace, name)) "
                    "WITHOUT ROWID"));
    BERTH_CHECK(run("CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER)"));
    BERTH_CHECK(run(fmt::format("PRAGMA user_version = {}", kFormat)));
    BERTH_CHECK(run("COMMIT"));
    BERTH_TRY(put_, statement("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)"));
    BERTH_TRY(erase_,
              statement("DELETE FROM objects WHERE kind = ? AND namespace = ? AND name = ?"));
    BERTH_TRY(revision_, statement("INSERT OR REPLACE INTO meta VALUES ('revision', ?)"));
    return {};
  }

  Result<Journaled> load() override {
    Journaled found;
    BERTH_TRY(const int known, number("SELECT count(*) FROM meta WHERE name = 'revision'"));
    if (known > 0) {
      BERTH_TRY(const Statement revision,
                statement("SELECT value FROM meta WHERE name = 'revision'"));
      sqlite3_step(revision.get());
      found.revision = static_cast<std::uint64_t>(sqlite3_column_int64(revision.get(), 0));
    }
    BERTH_TRY(const Statement all,
              statement("SELECT kind, namespace, name, document FROM objects"));
    int step = sqlite3_step(all.get());
    for (; step == SQLITE_ROW; step = sqlite3_step(all.get())) {
      auto object = api::Object::parse(std::string(column(all.get(), 3)));
      if (!object) {
        return fail(Code::Unavailable,
                    fmt::format("{}: {} {}/{} cannot be read: {}", path_, column(all.get(), 0),
                                column(all.get(), 1), column(all.get(), 2),
                                to_string(object.error())));
      }
      found.objects.push_back(*std::move(object));
    }
    if (step != SQLITE_DONE) {
      return problem("reading");
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
    BERTH_CHECK(run("BEGIN IMMEDIATE"));
    for (const auto& [key, object] : changes_) {
      if (!write(key, object)) {
        auto failed = problem("writing");
        (void)run("ROLLBACK");
        return failed;
      }
    }
    sqlite3_bind_int64(revision_.get(), 1, static_cast<sqlite3_int64>(last_));
    if (!done(revision_.get())) {
      auto failed = problem("writing");
      (void)run("ROLLBACK");
      return failed;
    }
    if (auto committed = run("COMMIT"); !committed) {
      (void)run("ROLLBACK");
      return committed;
    }
    changes_.clear();
    return {};
  }

  Result<void> save_copy(const std::string& path) override {
    if (std::filesystem::exists(path)) {
      return fail(Code::AlreadyExists, fmt::format("{} exists already", path));
    }
    BERTH_TRY(const Statement copy, statement("VACUUM INTO ?"));
    bind_text(copy.get(), 1, path);
    return sqlite3_step(copy.get()) == SQLITE_DONE ? Result<void>() : problem("copying");
  }

 private:
  using ChangeKey = std::tuple<std::string, std::string, std::string>; ///< kind, namespace, name

  static bool done(sqlite3_stmt* statement) {
    const bool good = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_reset(statement);
    return good;
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
    return done(statement);
  }

  tl::unexpected<Error> problem(std::string_view doing) const {
    const int code = sqlite3_errcode(database_.get());
    std::string_view hint;
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
      hint = "; another berth uses this data directory: stop it, or choose another";
    } else if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
      hint = "; it is damaged: restore a snapshot, or move it away to start anew";
    } else if (code == SQLITE_FULL) {
      hint = "; make room on the disk";
    } else if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) {
      hint = "; can this user write there?";
    }
    return fail(Code::Unavailable, fmt::format("{}: {} failed: {}{}", path_, doing,
                                               sqlite3_errmsg(database_.get()), hint));
  }

  Result<void> run(const std::string& sql) {
    return sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK
               ? Result<void>()
               : problem("opening or writing");
  }

  Result<Statement> statement(const std::string& sql) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) {
      return problem("reading");
    }
    return Statement(raw);
  }

  Result<int> number(const std::string& sql) {
    BERTH_TRY(const Statement asked, statement(sql));
    if (sqlite3_step(asked.get()) != SQLITE_ROW) {
      return problem("reading");
    }
    return sqlite3_column_int(asked.get(), 0);
  }

  Database database_;
  std::string path_;
  Statement put_;
  Statement erase_;
  Statement revision_;
  std::map<ChangeKey, std::optional<api::Object>> changes_; ///< the last of each object
  std::uint64_t last_ = 0;
};

} // namespace

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path) {
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  Database database(raw);
  if (opened != SQLITE_OK) {
    return fail(Code::Unavailable,
                fmt::format("{}: cannot be opened: {}; can this user write there?", path,
                            sqlite3_errstr(opened)));
  }
  sqlite3_busy_timeout(raw, kBusyMillis);
  auto journal = std::make_unique<SqliteJournal>(std::move(database), path);
  BERTH_CHECK(journal->prepare());
  return std::unique_ptr<Journal>(std::move(journal));
}

} // namespace berth::store
