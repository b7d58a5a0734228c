// SPDX-License-Identifier: Apache-2.0
#include "cuda_module/places.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace exactile::cuda_module {
namespace {

TEST(CudaModulePlaces, AreAbsolute) {
  for (const std::string own : {"/opt/tool/bin/program", "/usr/lib/libexactile.so.0", ""}) {
    const auto places = module_places(std::nullopt, own, false);
    ASSERT_TRUE(places.ok());
    ASSERT_FALSE(places.value().empty());
    for (const std::string& place : places.value()) EXPECT_TRUE(place.starts_with('/')) << place;
  }
}

TEST(CudaModulePlaces, BesideTheLibraryFirst) {
  const auto places = module_places(std::nullopt, "/opt/tool/lib/libexactile.so.0", false);
  ASSERT_TRUE(places.ok());
  EXPECT_EQ(places.value().front(), "/opt/tool/lib/libexactile_cuda.so");
}

TEST(CudaModulePlaces, ANamedOneIsTheOnlyOneAndAbsolute) {
  const auto places = module_places("/elsewhere/module.so", "/opt/tool/bin/program", false);
  ASSERT_TRUE(places.ok());
  EXPECT_EQ(places.value(), std::vector<std::string>{"/elsewhere/module.so"});
  const auto relative = module_places("module.so", "/opt/tool/bin/program", false);
  ASSERT_FALSE(relative.ok());
  EXPECT_EQ(relative.status().message(), "EXACTILE_CUDA_MODULE = module.so: expected an absolute path");
}

TEST(CudaModulePlaces, OfAProgramWithMoreRightsIsThatOfTheInstallAlone) {
  const auto places = module_places(std::nullopt, "/home/user/bin/program", true);
  ASSERT_TRUE(places.ok());
  ASSERT_EQ(places.value().size(), 1U);
  EXPECT_FALSE(places.value().front().starts_with("/home/user"));
}

TEST(CudaModulePlaces, TheProgramKnowsItsOwnFile) {
  const std::string own = own_file();
  EXPECT_TRUE(own.starts_with('/')) << own;
  EXPECT_TRUE(own.ends_with("/cuda_module_test")) << own;
}

}  // namespace
}  // namespace exactile::cuda_module
