// SPDX-License-Identifier: Apache-2.0
#include "cuda/model/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "tuning/table/parameters.hpp"

namespace exactile::cuda::model {
namespace {

using tuning::Parameters;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

constexpr double pico = 1e-12, per_mille = 1e-3;

Overheads overheads_of(const Parameters& p) {
  const auto share = [&](std::string_view name) { return per_mille * static_cast<double>(p.get(name, 1000)); };
  return {.launch = pico * static_cast<double>(p.get("LAUNCH_PS")),
          .side_launch = pico * static_cast<double>(p.get("SIDE_LAUNCH_PS")),
          .overlap = per_mille * static_cast<double>(p.get("OVERLAP_PM")),
          .share = share("SHARE_PM"),
          .copy_share = share("COPY_SHARE_PM"),
          .turn_share = share("TURN_SHARE_PM"),
          .host_launch = pico * static_cast<double>(p.get("HOST_LAUNCH_PS"))};
}

Device facts_of(const Parameters& p) {
  return {.compute_capability = static_cast<int>(p.get("CC")),
          .sm_count = static_cast<int>(p.get("SMS")),
          .shared_bytes_per_block = p.get("SHARED_BYTES"),
          .l2_bytes = p.get("L2_BYTES"),
          .memory_bytes = p.get("MEMORY_MB") << 20,
          .clock_hertz = 1e3 * static_cast<double>(p.get("CLOCK_KHZ")),
          .memory_bytes_per_second = 1e6 * static_cast<double>(p.get("BANDWIDTH_MBS"))};
}

std::string facts_text(const Device& d) {
  return fmt::format("CC={} SMS={} SHARED_BYTES={} L2_BYTES={} MEMORY_MB={} CLOCK_KHZ={:.0f} BANDWIDTH_MBS={:.0f}",
                     d.compute_capability, d.sm_count, d.shared_bytes_per_block, d.l2_bytes, d.memory_bytes >> 20,
                     d.clock_hertz * 1e-3, d.memory_bytes_per_second * 1e-6);
}

std::string overheads_text(const Overheads& o) {
  return fmt::format(
      "LAUNCH_PS={:.0f} SIDE_LAUNCH_PS={:.0f} OVERLAP_PM={:.0f} SHARE_PM={:.0f} COPY_SHARE_PM={:.0f} "
      "TURN_SHARE_PM={:.0f} HOST_LAUNCH_PS={:.0f}",
      o.launch / pico, o.side_launch / pico, o.overlap / per_mille, o.share / per_mille, o.copy_share / per_mille,
      o.turn_share / per_mille, o.host_launch / pico);
}

plan::HostLink link_of(const Parameters& p) {
  constexpr double mega = 1e6;
  return {.bytes_per_second = mega * static_cast<double>(p.get("LINK_MBS")),
          .round_trip_seconds = pico * static_cast<double>(p.get("ROUND_TRIP_PS")),
          .copy_bytes_per_second = mega * static_cast<double>(p.get("HOST_COPY_MBS"))};
}

std::string link_text(const plan::HostLink& link) {
  return fmt::format("LINK_MBS={:.0f} ROUND_TRIP_PS={:.0f} HOST_COPY_MBS={:.0f}", link.bytes_per_second * 1e-6,
                     link.round_trip_seconds / pico, link.copy_bytes_per_second * 1e-6);
}

/// "512x4096x14336 nt standard"
std::optional<GemmDescription> description_of(GemmTypes types, std::string_view shape) {
  const auto words = split(shape, ' ');
  if (words.size() != 3 || words[1].size() != 2) return std::nullopt;
  const auto sizes = split(words[0], 'x');
  if (sizes.size() != 3) return std::nullopt;
  const auto m = number<std::int64_t>(sizes[0]), n = number<std::int64_t>(sizes[1]), k = number<std::int64_t>(sizes[2]);
  constexpr std::int64_t most = 1 << 30;
  if (!m || !n || !k || std::min({*m, *n, *k}) < 1 || std::max({*m, *n, *k}) > most) return std::nullopt;
  const auto layout = [](char letter, std::int64_t rows, std::int64_t columns) {
    return letter == 't' ? OperandLayout{.row_stride = 1, .column_stride = rows}
                         : OperandLayout{.row_stride = columns, .column_stride = 1};
  };
  return GemmDescription{.types = types,
                         .m = *m,
                         .n = *n,
                         .k = *k,
                         .a = layout(words[1][0], *m, *k),
                         .b = layout(words[1][1], *k, *n),
                         .c = {.row_stride = *n, .column_stride = 1}};
}

std::string shape_text(const MeasuredProduct& product) {
  const GemmDescription& d = product.description;
  const auto letter = [](const OperandLayout& layout) { return layout.column_stride == 1 ? 'n' : 't'; };
  return fmt::format("{}x{}x{} {}{} {}", d.m, d.n, d.k, letter(d.a), letter(d.b), to_string(product.accuracy));
}

std::optional<MeasuredProduct> product_of(std::string_view types, std::string_view shape, std::string_view times,
                                          std::size_t way_count) {
  const auto parsed = parse_gemm_types(types);
  const auto description = parsed ? description_of(*parsed, shape) : std::nullopt;
  const auto accuracy = parse_accuracy(shape.substr(shape.rfind(' ') + 1));
  if (!description || !accuracy) return std::nullopt;
  MeasuredProduct product{.description = *description, .accuracy = *accuracy, .times = {}};
  for (const char *at = times.data(), *end = at + times.size(); at != end;) {
    int way = 0;
    double microseconds = 0;
    const auto colon = std::from_chars(at, end, way);
    if (colon.ec != std::errc() || colon.ptr == end || *colon.ptr != ':') return std::nullopt;
    const auto space = std::from_chars(colon.ptr + 1, end, microseconds);
    if (space.ec != std::errc() || way < 0 || static_cast<std::size_t>(way) >= way_count || !(microseconds > 0))
      return std::nullopt;
    product.times.push_back({way, 1e-6 * microseconds});
    if (space.ptr != end && *space.ptr != ' ') return std::nullopt;
    at = space.ptr == end ? end : space.ptr + 1;
  }
  if (product.times.empty()) return std::nullopt;
  return product;
}

std::optional<Configuration> configuration_of(std::string_view text) {
  const auto pin = Pin::parse(text);
  return pin ? std::optional(pin->configuration()) : std::nullopt;
}

/// Whether nothing will be divided by zero.
bool is_sound(const DeviceRows& rows) {
  const Device& d = rows.facts;
  const Overheads& o = rows.overheads;
  return d.compute_capability > 0 && d.sm_count > 0 && d.shared_bytes_per_block > 0 && d.memory_bytes > 0 &&
         d.clock_hertz > 0 && d.memory_bytes_per_second > 0 &&
         std::min({o.launch, o.side_launch, o.overlap, o.host_launch}) >= 0 &&
         std::min({o.share, o.copy_share, o.turn_share}) > 0 &&
         std::min({rows.link.bytes_per_second, rows.link.round_trip_seconds, rows.link.copy_bytes_per_second}) > 0;
}

void read_line(std::string_view line, std::vector<DeviceRows>& all) {
  const auto fields = split(line, '\t');
  if (fields.size() < 4) return;
  auto at = std::ranges::find(all, fields[1], &DeviceRows::name);
  if (fields[0] == "device") {
    const auto facts = Parameters::parse(fields[2]), overheads = Parameters::parse(fields[3]);
    if (at != all.end()) all.erase(at);  // what comes later counts
    constexpr std::int64_t most_megabytes = std::int64_t{1} << 40;
    if (!facts || !overheads || facts->get("MEMORY_MB") > most_megabytes) return;
    DeviceRows rows;
    rows.name = fields[1];
    rows.facts = facts_of(*facts);
    rows.overheads = overheads_of(*overheads);
    if (const auto link = fields.size() > 4 ? Parameters::parse(fields[4]) : std::nullopt) rows.link = link_of(*link);
    if (is_sound(rows)) all.push_back(std::move(rows));
    return;
  }
  if (at == all.end()) return;
  if (fields[0] == "rates" && fields.size() == 7) {
    const auto type = parse_gemm_types(fields[3]);
    const auto sizes = configuration_of(fields[4]);
    const std::size_t slash = std::min(fields[5].find('/'), fields[5].size());
    const auto path = number<int>(fields[5].substr(0, slash));
    const auto store = slash == fields[5].size() ? 0 : number<int>(fields[5].substr(slash + 1));
    const auto rates = Parameters::parse(fields[6]);
    if (type && sizes && path && store && rates &&
        std::min({rates->get("STEP_PS"), rates->get("TILE_PS"), rates->get("HEAD_PM")}) >= 0)
      at->rates[RatesKey{std::string(fields[2]), type->input, *sizes, *path, *store}] = {
          pico * static_cast<double>(rates->get("STEP_PS")), pico * static_cast<double>(rates->get("TILE_PS")),
          1e-3 * static_cast<double>(rates->get("HEAD_PM"))};
  } else if (fields[0] == "way" && fields.size() == 5) {
    const auto configuration = configuration_of(fields[4]);
    if (configuration && number<std::size_t>(fields[2]) == at->ways.size())
      at->ways.push_back({std::string(fields[3]), *configuration});
  } else if (fields[0] == "product" && fields.size() == 5) {
    if (auto product = product_of(fields[2], fields[3], fields[4], at->ways.size()))
      at->products.push_back(std::move(*product));
  }
}

template <class IsWanted>
std::vector<DeviceRows> read_lines(std::string_view text, const IsWanted& is_wanted) {
  std::vector<DeviceRows> all;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty() && line.front() != '#' && is_wanted(line)) read_line(line, all);
  }
  return all;
}

}  // namespace

RatesKey rates_key(std::string_view kernel, ElementType type, const Configuration& c, int path, int store) {
  return {std::string(kernel),
          type,
          {.bm = c.bm,
           .bn = c.bn,
           .cluster_k = c.cluster_k,
           .slice_k = c.slice_k,
           .ctas = c.ctas,
           .warps = c.warps,
           .stages = c.stages},
          path,
          store};
}

std::size_t HashOfRatesKey::operator()(const RatesKey& key) const {
  std::size_t hash = std::hash<std::string_view>()(key.kernel);
  for (const int number : {static_cast<int>(key.type), key.sizes.bm, key.sizes.bn, key.sizes.cluster_k,
                           key.sizes.slice_k, key.sizes.ctas, key.sizes.warps, key.sizes.stages, key.path, key.store})
    hash = (hash ^ static_cast<std::size_t>(number)) * 0x100000001b3U;
  return hash;
}

std::string to_string(const RatesKey& key) {
  const std::string store = key.store == 0 ? std::string() : fmt::format("/{}", key.store);
  return fmt::format("{}\t{}\t{}\t{}{}", key.kernel, to_string(key.type), to_string(key.sizes), key.path, store);
}

std::vector<DeviceRows> parse_rows(std::string_view text) {
  return read_lines(text, [](std::string_view) { return true; });
}

DeviceRows parse_rows(std::string_view text, std::string_view name) {
  const auto is_named = [&](std::string_view line) {
    line.remove_prefix(std::min(line.find('\t') + 1, line.size()));
    return line.starts_with(name) && line.substr(name.size()).starts_with('\t');
  };
  std::vector<DeviceRows> found = read_lines(text, is_named);
  return found.empty() ? DeviceRows() : std::move(found.front());
}

std::vector<DeviceRows> parse_devices(std::string_view text) {
  return read_lines(text, [](std::string_view line) { return line.starts_with("device\t"); });
}

std::string to_text(const DeviceRows& rows) {
  std::string text = fmt::format("device\t{}\t{}\t{}\t{}\n", rows.name, facts_text(rows.facts),
                                 overheads_text(rows.overheads), link_text(rows.link));
  std::map<std::string, Rates> sorted;
  for (const auto& [key, rates] : rows.rates) sorted.emplace(to_string(key), rates);
  for (const auto& [key, rates] : sorted)
    text += fmt::format("rates\t{}\t{}\tSTEP_PS={:.0f} TILE_PS={:.0f} HEAD_PM={:.0f}\n", rows.name, key,
                        rates.step / pico, rates.tile / pico, 1e3 * rates.head);
  for (std::size_t i = 0; i < rows.ways.size(); ++i)
    text +=
        fmt::format("way\t{}\t{}\t{}\t{}\n", rows.name, i, rows.ways[i].kernel, to_string(rows.ways[i].configuration));
  for (const MeasuredProduct& product : rows.products) {
    text += fmt::format("product\t{}\t{}\t{}\t", rows.name, to_string(product.description.types), shape_text(product));
    for (const Time& time : product.times)
      text += fmt::format("{}{}:{:.4g}", &time == product.times.data() ? "" : " ", time.way, time.seconds * 1e6);
    text += '\n';
  }
  return text;
}

}  // namespace exactile::cuda::model
