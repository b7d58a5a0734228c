// SPDX-License-Identifier: Apache-2.0
#include "tuning/table/table.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "core/environment.hpp"
#include "tuning/table/file.hpp"
#include "tuning/table/shipped.hpp"

namespace exactile::tuning {
namespace {

constexpr std::string_view heading =
    "# exactile tuning rows: kernel, version, types, shape class, device, driver, operations/s, parameters, checksum\n";
constexpr FileKind kind{.beginning = heading.substr(0, heading.find(':')),
                        .has_rows = [](const std::string& text) { return !parse_rows(text).rows.empty(); }};

const std::vector<Row>& shipped_rows() {
  static const auto& rows = *new std::vector<Row>([] {
    std::vector<Row> all = parse_rows(opencl_tsv).rows;
    std::ranges::move(parse_rows(cpu_tsv).rows, std::back_inserter(all));
    return all;
  }());
  return rows;
}

/// The best of the rows that fit, at one level of device names and classes.
const Row* best_of(const std::vector<Row>& rows, const Query& query, const std::string& types,
                   const std::string& device, std::string_view shape_class,
                   const std::function<bool(const Parameters&)>& is_legal) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    const Key& k = row.key;
    const bool fits = k.kernel == query.kernel && k.version == query.version && k.types == types &&
                      k.device == device && k.shape_class == shape_class &&
                      (k.driver == "any" || k.driver == query.driver) && row.rate > 0;
    if (fits && (best == nullptr || row.rate > best->rate) && is_legal(row.parameters)) best = &row;
  }
  return best;
}

/// The file's rows, parsed again only when it has changed; never null.
std::shared_ptr<const Rows> rows_of(const std::string& path) {
  struct Seen {
    ino_t inode = 0;
    off_t size = -1;
    timespec changed{};
    std::shared_ptr<const Rows> rows;
  };
  static std::mutex mutex;
  static auto& files = *new std::map<std::string, Seen>;
  struct stat now = {};
  if (path.empty() || stat(path.c_str(), &now) != 0 || !S_ISREG(now.st_mode)) return std::make_shared<const Rows>();
  const std::lock_guard lock(mutex);
  Seen& seen = files[path];
  const bool same = seen.inode == now.st_ino && seen.size == now.st_size && seen.changed.tv_sec == now.st_mtim.tv_sec &&
                    seen.changed.tv_nsec == now.st_mtim.tv_nsec;
  if (!same) seen = {now.st_ino, now.st_size, now.st_mtim, std::make_shared<const Rows>(parse_rows(content_of(path)))};
  return seen.rows;
}

}  // namespace

std::string user_file() {
  if (const auto path = core::environment("EXACTILE_TUNING_DB")) return std::string(*path);
  const auto folder = core::cache_folder();
  return folder ? *folder + "/tuning.tsv" : std::string();
}

Rows read_file(const std::string& path) { return *rows_of(path); }

bool has_user_rows() { return !rows_of(user_file())->rows.empty(); }

bool has_user_rows(std::string_view kernel, std::string_view types, std::string_view shape_class) {
  return std::ranges::any_of(rows_of(user_file())->rows, [&](const Row& row) {
    return row.key.kernel == kernel && row.key.types == types && row.key.shape_class == shape_class;
  });
}

std::optional<double> measured_rate(const Query& query) {
  const auto user = rows_of(user_file());
  const Row* best = best_of(user->rows, query, query.types.front(), query.devices.front(), query.shape_class,
                            [](const Parameters&) { return true; });
  return best == nullptr ? std::nullopt : std::optional(best->rate);
}

std::vector<Row> rows_of_class(std::string_view types, std::string_view shape_class) {
  std::vector<Row> found;
  const auto user = rows_of(user_file());
  std::ranges::copy_if(user->rows, std::back_inserter(found), [&](const Row& row) {
    return row.rate > 0 && row.key.shape_class == shape_class && row.key.types == types;
  });
  return found;
}

std::optional<Found> find(const Query& query, const std::function<bool(const Parameters&)>& is_legal) {
  const auto user = rows_of(user_file());
  const std::string note = user->unreadable_lines > 0 ? fmt::format("; {} unreadable lines of {} left out",
                                                                    user->unreadable_lines, user_file())
                                                      : "";
  for (const std::string& types : query.types) {
    if (const Row* row = best_of(user->rows, query, types, query.devices.front(), query.shape_class, is_legal))
      return Found{row->parameters, fmt::format("tuned here, {} {}{}", types, query.shape_class, note)};
    for (const std::string& device : query.devices)
      for (const std::string_view shape_class : {std::string_view(query.shape_class), std::string_view("any")})
        if (const Row* row = best_of(shipped_rows(), query, types, device, shape_class, is_legal))
          return Found{row->parameters, fmt::format("shipped for {}, {} {}{}", device, types, shape_class, note)};
  }
  return std::nullopt;
}

Status check_file(const std::string& file) { return check_file_of(kind, file); }

namespace {

/// `rows` behind those of the file that none of them replaces.
template <class Replaces>
Status renew_rows(const std::string& file, std::span<const Row> rows, const Replaces& replaces) {
  return renew_file(kind, file, [&](const std::string& old) {
    std::string text(heading);
    for (const Row& kept : parse_rows(old).rows)
      if (std::ranges::none_of(rows, [&](const Row& row) { return replaces(row, kept); })) text += to_line(kept);
    for (const Row& row : rows) text += to_line(row);
    return text;
  });
}

}  // namespace

Status add_row(const std::string& file, const Row& row) {
  return renew_rows(file, std::span(&row, 1), [](const Row& added, const Row& kept) {
    return kept.key == added.key && kept.parameters == added.parameters;
  });
}

Status replace_rows(const std::string& file, const std::vector<Row>& rows) {
  return renew_rows(file, rows, [](const Row& added, const Row& kept) { return kept.key == added.key; });
}

}  // namespace exactile::tuning
