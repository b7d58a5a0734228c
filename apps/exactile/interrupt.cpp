// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <string_view>

#include "failure.hpp"

namespace exactile::program {
namespace {

// A handler may touch only lock-free atomics and call only async-signal-safe functions, hence the plain array.
std::array<char, 4096> temporary_path;
std::atomic<bool> temporary_exists = false;
std::array<char, 4200> interruption_note;
std::atomic<std::size_t> interruption_note_size = 0;

void say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void remove_temporary() {
  if (temporary_exists.load(std::memory_order_acquire)) unlink(temporary_path.data());
}

/// Ends by the signal itself, not with an exit code of its number: that is how a shell learns that the loop in which
/// the program runs should end too.
void on_interruption(int signal) {
  remove_temporary();
  const std::size_t size = interruption_note_size.load(std::memory_order_acquire);
  say("\nexactile: interrupted; ");
  say(size == 0 ? "nothing was left behind" : std::string_view(interruption_note.data(), size));
  say("\n");
  std::signal(signal, SIG_DFL);
  raise(signal);  // delivered when this handler, which blocks it, returns
}

void on_bus_error(int) {
  remove_temporary();
  say("\nexactile: a file shrank, or its disk failed, while it was in use\n");
  _exit(static_cast<int>(Exit::bad_input));
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigfillset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

/// What a person, a terminal, a timer or a batch system ends a program with. Not SIGPIPE: it comes of printing, which
/// nothing does while there is a temporary file, and should end a pipeline without a word.
constexpr std::array interruptions = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,   SIGXCPU,
                                      SIGALRM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF};

/// Neither ignored by whoever started the program (nohup(1) does that, and shells do it to jobs in the background) nor
/// taken by a profiler that was loaded with it.
bool would_end_it(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
}

}  // namespace

void install_signal_handlers() {
  for (const int signal : interruptions)
    if (would_end_it(signal)) handle(signal, on_interruption);
  handle(SIGBUS, on_bus_error);
  handle(SIGXFSZ, SIG_IGN);
}

void set_temporary_file(const std::string& path) {
  temporary_exists.store(false, std::memory_order_release);
  if (path.empty() || path.size() >= temporary_path.size()) return;
  std::copy(path.begin(), path.end(), temporary_path.begin());
  temporary_path[path.size()] = '\0';
  temporary_exists.store(true, std::memory_order_release);
}

void set_interruption_note(std::string_view note) {
  interruption_note_size.store(0, std::memory_order_release);
  const std::size_t size = std::min(note.size(), interruption_note.size());
  std::copy_n(note.begin(), size, interruption_note.begin());
  interruption_note_size.store(size, std::memory_order_release);
}

SignalBlock::SignalBlock() {
  sigset_t waiting;
  sigemptyset(&waiting);
  for (const int signal : interruptions) sigaddset(&waiting, signal);
  pthread_sigmask(SIG_BLOCK, &waiting, &before_);
}

SignalBlock::~SignalBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace exactile::program
