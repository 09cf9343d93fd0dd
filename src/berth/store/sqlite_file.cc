#include "berth/store/sqlite_file.h"

#include <utility>

#include <fmt/format.h>

namespace berth::store {
namespace {

constexpr int kBusyMillis = 2000;

/// What can be done about it.
std::string_view hint_of(int code) {
  switch (code & 0xff) {
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return "; another berth uses this data directory: stop it, or choose another";
  case SQLITE_NOTADB:
  case SQLITE_CORRUPT:
    return "; it is damaged: restore a snapshot, or move it away to start anew";
  case SQLITE_FULL:
  case SQLITE_IOERR:
    return "; make room on the disk";
  case SQLITE_CANTOPEN:
  case SQLITE_READONLY:
    return "; can this user write there?";
  default:
    return "";
  }
}

} // namespace

Result<SqliteFile> SqliteFile::open(const std::string& path, Access access) {
  sqlite3* raw = nullptr;
  const int flags =
      access == Access::Write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  SqliteFile file(raw, path);
  if (opened != SQLITE_OK) {
    return fail(Code::Unavailable,
                fmt::format("{}: cannot be opened: {}; can this user {} there?", path,
                            sqlite3_errstr(opened), access == Access::Write ? "write" : "read"));
  }
  sqlite3_busy_timeout(raw, kBusyMillis);
  return file;
}

Result<void> SqliteFile::run(const std::string& sql) {
  return sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK
             ? Result<void>()
             : problem("opening or writing");
}

Result<Statement> SqliteFile::statement(const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) {
    return problem("reading");
  }
  return Statement(raw);
}

Result<std::int64_t> SqliteFile::number(const std::string& sql) {
  BERTH_TRY(const Statement asked, statement(sql));
  if (sqlite3_step(asked.get()) != SQLITE_ROW) {
    return problem("reading");
  }
  return sqlite3_column_int64(asked.get(), 0);
}

tl::unexpected<Error> SqliteFile::problem(std::string_view doing) const {
  const int code = sqlite3_errcode(database_.get());
  return fail(Code::Unavailable, fmt::format("{}: {} failed: {}{}", path_, doing,
                                             sqlite3_errmsg(database_.get()), hint_of(code)));
}

void bind_text(sqlite3_stmt* statement, int at, std::string_view text) {
  sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

std::string_view column_bytes(sqlite3_stmt* statement, int at) {
  return {static_cast<const char*>(sqlite3_column_blob(statement, at)),
          static_cast<std::size_t>(sqlite3_column_bytes(statement, at))};
}

bool finish(sqlite3_stmt* statement) {
  const bool good = sqlite3_step(statement) == SQLITE_DONE;
  sqlite3_reset(statement);
  return good;
}

} // namespace berth::store
