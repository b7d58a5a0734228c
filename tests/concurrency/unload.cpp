// SPDX-License-Identifier: Apache-2.0
// unload PLUG_IN: multiplies by a shared object that holds the library, closes it while a thread that multiplied still
// runs and workers sleep in its code, ends that thread, and multiplies anew. Ends with 1 if anything is wrong; unmapped
// code ends it with a signal.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <future>
#include <thread>

namespace {

using Multiply = bool (*)(int threads);

int fail(const char* what) {
  const char* const why = dlerror();
  std::fprintf(stderr, "%s: %s\n", what, why == nullptr ? "" : why);
  return 1;
}

void* open_and_multiply(const char* path, bool* right) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto multiply = reinterpret_cast<Multiply>(dlsym(library, "multiply_ones"));
  *right = multiply != nullptr && multiply(4);
  return library;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return fail("expected the plug-in's path");
  std::promise<void*> opened;
  std::promise<void> closed;
  bool right = false;
  std::thread user([&] {
    opened.set_value(open_and_multiply(arguments[1], &right));
    closed.get_future().wait();
  });
  void* const library = opened.get_future().get();
  const bool unloads = library != nullptr && dlclose(library) == 0;
  closed.set_value();
  user.join();
  if (!unloads || !right) return fail("the first product");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // workers that return to unmapped code would show
  if (open_and_multiply(arguments[1], &right) == nullptr || !right) return fail("the product after unloading");
  return 0;
}
