// One open SQLite file: statements that cannot leak, and errors that say what to do. For the
// sources of this room that keep objects in files; nobody else includes it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "berth/base/result.h"

namespace berth::store {

struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

class SqliteFile {
 public:
  enum class Access { Read, Write };
  /// `Write` makes the file if it is not there. Error Unavailable: it cannot be opened.
  static Result<SqliteFile> open(const std::string& path, Access access);

  Result<void> run(const std::string& sql);
  Result<Statement> statement(const std::string& sql);
  /// The number that a statement answers with in its first row.
  Result<std::int64_t> number(const std::string& sql);
  /// What SQLite said last, as an error.
  tl::unexpected<Error> problem(std::string_view doing) const;

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  SqliteFile(sqlite3* raw, std::string path) : database_(raw), path_(std::move(path)) {}

  std::unique_ptr<sqlite3, Close> database_;
  std::string path_;
};

/// Both valid while the statement keeps its row.
void bind_text(sqlite3_stmt* statement, int at, std::string_view text);
std::string_view column_bytes(sqlite3_stmt* statement, int at);
/// Runs it to its end, and makes it ready for the next time.
bool finish(sqlite3_stmt* statement);

} // namespace berth::store
