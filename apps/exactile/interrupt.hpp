// SPDX-License-Identifier: Apache-2.0
/// \file What happens on Ctrl-C: an unfinished output disappears.
#pragma once

#include <csignal>
#include <string>
#include <string_view>

namespace exactile::program {

/// SIGINT, SIGTERM and others that end a program remove the temporary file first; those that were ignored when it was
/// started stay ignored. A mapped file that shrinks while it is read (SIGBUS) ends the program with Exit::bad_input
/// instead of a crash; a file size limit is answered by the write that meets it.
void install_signal_handlers();

/// The one file that a signal removes; "" for none. The path is copied.
void set_temporary_file(const std::string& path);

/// What an interruption leaves, for the line that says so: "the rows found so far are kept in FILE" (of a long one the
/// first bytes). Without it: "nothing was left behind".
void set_interruption_note(std::string_view note);

/// While it lives, the signals above wait.
class SignalBlock {
 public:
  SignalBlock();
  ~SignalBlock();
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  sigset_t before_;
};

}  // namespace exactile::program
