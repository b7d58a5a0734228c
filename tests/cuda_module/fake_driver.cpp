// SPDX-License-Identifier: Apache-2.0
// A shared object with one function that nobody asks for.
extern "C" int fake_driver_is_here() { return 1; }
