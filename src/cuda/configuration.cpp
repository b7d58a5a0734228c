// SPDX-License-Identifier: Apache-2.0
#include "cuda/configuration.hpp"

#include <fmt/format.h>

#include <array>

#include "tuning/table/parameters.hpp"

namespace exactile::cuda {
namespace {

struct Field {
  std::string_view name;
  int Configuration::*size;
};
constexpr std::array fields{Field{"BM", &Configuration::bm},
                            Field{"BN", &Configuration::bn},
                            Field{"CLUSTER_M", &Configuration::cluster_m},
                            Field{"CLUSTER_N", &Configuration::cluster_n},
                            Field{"CLUSTER_K", &Configuration::cluster_k},
                            Field{"SLICE_K", &Configuration::slice_k},
                            Field{"SPLIT_K", &Configuration::split_k},
                            Field{"CTAS", &Configuration::ctas},
                            Field{"WARPS", &Configuration::warps},
                            Field{"STAGES", &Configuration::stages},
                            Field{"PACK", &Configuration::pack},
                            Field{"SWAP", &Configuration::swap}};

}  // namespace

std::vector<std::pair<std::string_view, int>> sizes_of(const Configuration& configuration) {
  std::vector<std::pair<std::string_view, int>> sizes;
  for (const Field& field : fields)
    if (const int size = configuration.*field.size; size != 0) sizes.emplace_back(field.name, size);
  return sizes;
}

std::string to_string(const Configuration& configuration) {
  std::string text;
  for (const auto& [name, size] : sizes_of(configuration))
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, size);
  return text;
}

std::string exact_pin(const Configuration& configuration) {
  std::string text;
  for (const Field& field : fields)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", field.name, configuration.*field.size);
  return text;
}

std::optional<Pin> Pin::parse(std::string_view text) {
  const auto parameters = tuning::Parameters::parse(text);
  if (!parameters) return std::nullopt;
  Pin pin;
  for (const auto& [name, value] : parameters->values()) {
    unsigned bit = 1;
    const Field* found = nullptr;
    for (const Field& field : fields) {
      if (field.name == name) found = &field;
      if (found == nullptr) bit <<= 1;
    }
    if (found == nullptr || value < 0 || value > 1 << 30) return std::nullopt;
    pin.named_ |= bit;
    pin.wanted_.*found->size = static_cast<int>(value);
  }
  return pin;
}

bool Pin::matches(const Configuration& configuration) const {
  unsigned bit = 1;
  for (const Field& field : fields) {
    if ((named_ & bit) != 0 && configuration.*field.size != wanted_.*field.size) return false;
    bit <<= 1;
  }
  return true;
}

}  // namespace exactile::cuda
