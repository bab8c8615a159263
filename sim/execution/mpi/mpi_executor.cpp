// The ranks of an MPI job as an executor. MPI's functions come from a library that is loaded when
// the first rank needs it: linking it would make every start of the program read it and a dozen
// libraries behind it.
//
// Rank 0 answers each message of another rank with a batch: its first unit and the number of units,
// or no unit if none are left. The messages bring the computed bytes; two empty ones come first, so
// that a rank always has its next batch when it finishes one, however rarely rank 0 looks at its
// messages.
//
// SPDX-License-Identifier: MIT
#include "execution/mpi/mpi_executor.hpp"

// MPI's C++ classes, which would have to be linked, are left out.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <retrysim/error.hpp>
#include <retrysim/run.hpp>

#include "execution/distant.hpp"
#include "execution/executor.hpp"
#include "execution/run_bytes.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace retrysim::execution {

/// The functions of MPI that the executor calls, under MPI's names.
struct MpiLibrary {
  decltype(&MPI_Init_thread) init_thread;
  decltype(&MPI_Comm_rank) comm_rank;
  decltype(&MPI_Comm_size) comm_size;
  decltype(&MPI_Finalize) finalize;
  decltype(&MPI_Get_count) get_count;
  decltype(&MPI_Ibarrier) ibarrier;
  decltype(&MPI_Ibcast) ibcast;
  decltype(&MPI_Iprobe) iprobe;
  decltype(&MPI_Irecv) irecv;
  decltype(&MPI_Isend) isend;
  decltype(&MPI_Recv) recv;
  decltype(&MPI_Test) test;
  MPI_Comm world;
  MPI_Datatype byte;
};

/// Loads the library at the first call. Throws RequestError if it cannot be loaded.
const MpiLibrary& mpi();

// --- Messages on their way -----------------------------------------------------------------------

/// Messages on their way, whose bytes must be kept until they are sent.
class Outbox {
 public:
  void send(std::string bytes, int to, int tag) {
    std::erase_if(waiting_, [](Message& m) {
      int done = 0;
      mpi().test(&m.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
    Message& m = waiting_.emplace_back();
    m.bytes = std::move(bytes);
    mpi().isend(m.bytes.data(), static_cast<int>(m.bytes.size()), mpi().byte, to, tag, mpi().world,
                &m.request);
  }

  /// The requests of messages that are still on their way.
  std::vector<MPI_Request*> open() {
    std::vector<MPI_Request*> requests;
    for (Message& m : waiting_) requests.push_back(&m.request);
    return requests;
  }

 private:
  struct Message {
    std::string bytes;
    MPI_Request request;
  };
  std::list<Message> waiting_;
};

namespace {

[[noreturn]] void fail_to_load() {
  throw RequestError(fmt::format(
      "started as an MPI rank, but MPI cannot be loaded ({}); install it, or use --shard or --mpi "
      "off",
      ::dlerror()));
}

void* symbol(void* library, const char* name) {
  void* const found = ::dlsym(library, name);
  if (found == nullptr) fail_to_load();
  return found;
}

template <typename Function>
void find(Function& function, void* library, const char* name) {
  function = reinterpret_cast<Function>(symbol(library, name));
}

MpiLibrary load() {
  // MPI's own plug-ins look for its symbols in the whole program.
  void* const library = ::dlopen(RETRYSIM_MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) fail_to_load();
  MpiLibrary loaded;
  find(loaded.init_thread, library, "MPI_Init_thread");
  find(loaded.comm_rank, library, "MPI_Comm_rank");
  find(loaded.comm_size, library, "MPI_Comm_size");
  find(loaded.finalize, library, "MPI_Finalize");
  find(loaded.get_count, library, "MPI_Get_count");
  find(loaded.ibarrier, library, "MPI_Ibarrier");
  find(loaded.ibcast, library, "MPI_Ibcast");
  find(loaded.iprobe, library, "MPI_Iprobe");
  find(loaded.irecv, library, "MPI_Irecv");
  find(loaded.isend, library, "MPI_Isend");
  find(loaded.recv, library, "MPI_Recv");
  find(loaded.test, library, "MPI_Test");
#ifdef OPEN_MPI  // handles of Open MPI are addresses; those of others are numbers
  loaded.world = static_cast<MPI_Comm>(symbol(library, "ompi_mpi_comm_world"));
  loaded.byte = static_cast<MPI_Datatype>(symbol(library, "ompi_mpi_byte"));
#else
  loaded.world = MPI_COMM_WORLD;
  loaded.byte = MPI_BYTE;
#endif
  return loaded;
}

}  // namespace

const MpiLibrary& mpi() {
  static const MpiLibrary library = load();
  return library;
}

// --- The executor --------------------------------------------------------------------------------

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBatchTag = 1, kResultTag = 2;
constexpr int kCredits = 2;  // batches that a rank may hold at once
constexpr double kBatchSeconds = 0.02;
constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kShortestNap = std::chrono::microseconds(100);
constexpr auto kLongestNap = std::chrono::microseconds(3000);
constexpr std::uint64_t kFinished = ~std::uint64_t{0};  // sent instead of the size of shared bytes
constexpr std::size_t kMaxBytesAtOnce = std::size_t{1} << 30;  // MPI counts with an int

/// Times to sleep, ever longer, between looks for something to happen.
class Nap {
 public:
  Clock::duration next() {
    const auto nap = nap_;
    nap_ = std::min<Clock::duration>(2 * nap_, kLongestNap);
    return nap;
  }
  void reset() { nap_ = kShortestNap; }

 private:
  Clock::duration nap_ = kShortestNap;
};

class MpiExecutor : public Executor {
 public:
  explicit MpiExecutor(const std::atomic<bool>* stop) : stop_(stop) {
    int provided = 0;
    mpi().init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED)
      throw std::runtime_error("this MPI library does not support threads (MPI_THREAD_FUNNELED)");
    mpi().comm_rank(mpi().world, &rank_);
    mpi().comm_size(mpi().world, &size_);
  }

  bool is_owner() const override { return rank_ == 0; }
  bool is_alone() const override { return size_ == 1; }

  std::string share(std::string bytes) override {
    std::uint64_t size = bytes.size();
    broadcast(&size, sizeof size);
    if (size == kFinished) {
      dismissed_ = true;
      throw Dismissed();
    }
    bytes.resize(size);
    for (std::size_t at = 0; at < size; at += kMaxBytesAtOnce) {
      broadcast(bytes.data() + at, std::min(kMaxBytesAtOnce, size - at));
    }
    return bytes;
  }

  void agree(const std::string& bytes) override {
    if (share(bytes) != bytes) diverge();
  }

  void run(const Task& task) override;

  void finish() override {
    if (finished_) return;
    if (out_of_step_) diverge();
    if (is_owner()) {
      std::uint64_t size = kFinished;
      broadcast(&size, sizeof size);
    } else if (!dismissed_) {
      wait_for_dismissal();
    }
    finished_ = true;
    MPI_Request request;
    mpi().ibarrier(mpi().world, &request);  // this wait sleeps, unlike MPI_Finalize
    wait(request);
    mpi().finalize();
  }

 private:
  class Owner;

  bool stopped() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }

  /// Waits for a request. Throws Interrupted if asked to stop meanwhile: the other side may be
  /// gone.
  void wait(MPI_Request& request) const {
    Nap nap;
    int done = 0;
    while (mpi().test(&request, &done, MPI_STATUS_IGNORE), done == 0) {
      if (stopped()) throw Interrupted();
      std::this_thread::sleep_for(nap.next());
    }
  }

  void broadcast(void* bytes, std::size_t size) const {
    MPI_Request request;
    mpi().ibcast(bytes, static_cast<int>(size), mpi().byte, 0, mpi().world, &request);
    wait(request);
  }

  void help(const Task& task);

  /// The result of a batch as a message; if it is too long for one, a message that says so.
  static std::string result_of(BatchWorker& worker, Batch batch) {
    BatchResult failed;
    try {
      std::string bytes = pack(worker.compute(batch));
      if (bytes.size() <= kMaxBytesAtOnce) return bytes;
      failed.failure =
          Failure{batch.first, Failure::kLimit,
                  "results of more than 1 GiB cannot be sent between MPI ranks; choose a longer "
                  "interval"};
    } catch (...) {
      failed.failure = Failure::current(batch.first);
    }
    return pack(failed);
  }

  void wait_for_dismissal() {
    try {
      share("");
    } catch (const Dismissed&) {
      return;
    }
    diverge();
  }

  [[noreturn]] void diverge() {
    out_of_step_ = true;
    throw std::runtime_error(
        fmt::format("MPI rank {} was given different work than rank 0; are the command line, the "
                    "scenario and its inputs the same everywhere?",
                    rank_));
  }

  const std::atomic<bool>* stop_;
  int rank_ = 0, size_ = 1;
  bool dismissed_ = false, out_of_step_ = false, finished_ = false;
};

/// The work of rank 0.
class MpiExecutor::Owner {
 public:
  Owner(const MpiExecutor& executor, const Task& task)
      : executor_(executor),
        task_(task),
        others_(executor.size_ - 1),
        batches_(task.units, static_cast<std::size_t>(executor.size_), kBatchSeconds) {}

  void run() {
    {
      std::jthread local([this] { compute(); });
      look_after();
    }
    if (!trouble_ && failure_ && failure_->kind != Failure::kInterrupted) failure_->raise();
    if (trouble_) std::rethrow_exception(trouble_);
    if (delivered_ < task_.units) throw Interrupted();
  }

 private:
  // Computes this rank's own share of the units, in a thread of its own.
  void compute() {
    BatchWorker worker(task_, executor_.stop_);
    while (true) {
      Batch batch;
      {
        const std::lock_guard lock(mutex_);
        batch = batches_.next();
      }
      if (batch.count == 0) break;
      BatchResult result = worker.compute(batch);
      const std::lock_guard lock(mutex_);
      if (result.failure) batches_.end();
      local_.push_back(std::move(result));
      changed_.notify_one();
    }
    const std::lock_guard lock(mutex_);
    local_done_ = true;
    changed_.notify_one();
  }

  void look_after() {
    Nap nap;
    auto last_tick = Clock::now();
    while (true) {
      if (executor_.stopped()) {
        const std::lock_guard lock(mutex_);
        batches_.end();
      }
      const bool received = receive();
      bool local_done = false;
      const bool taken = take_local(local_done);
      // Ranks that have been asked to stop may be gone: their answers are not waited for.
      if (local_done && (executor_.stopped() || ended_credits_ == kCredits * others_)) break;
      if (task_.tick && Clock::now() - last_tick >= kTick) {
        guard([&] { task_.tick(); });
        last_tick = Clock::now();
      }
      if (received || taken) {
        nap.reset();
        continue;
      }
      std::unique_lock lock(mutex_);
      if (local_.empty()) changed_.wait_for(lock, nap.next());
    }
    bool local_done = false;
    take_local(local_done);
    for (MPI_Request* request : outbox_.open()) {
      if (!executor_.stopped()) executor_.wait(*request);
    }
  }

  bool receive() {
    int there = 0;
    MPI_Status status;
    mpi().iprobe(MPI_ANY_SOURCE, kResultTag, mpi().world, &there, &status);
    if (there == 0) return false;
    int size = 0;
    mpi().get_count(&status, mpi().byte, &size);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    mpi().recv(bytes.data(), size, mpi().byte, status.MPI_SOURCE, kResultTag, mpi().world,
               MPI_STATUS_IGNORE);
    BatchResult result;
    if (size > 0) guard([&] { unpack(bytes, result); });
    Batch batch;
    {
      const std::lock_guard lock(mutex_);
      batches_.note(result.done.size(), result.seconds);
      if (result.failure) batches_.end();
      batch = batches_.next();
    }
    ended_credits_ += batch.count == 0;
    std::string answer;
    put(answer, static_cast<std::uint64_t>(batch.first));
    put(answer, static_cast<std::uint64_t>(batch.count));
    outbox_.send(std::move(answer), status.MPI_SOURCE, kBatchTag);
    take(std::move(result));
    return true;
  }

  bool take_local(bool& done) {
    std::vector<BatchResult> results;
    {
      const std::lock_guard lock(mutex_);
      std::swap(results, local_);
      done = local_done_;
      for (const BatchResult& r : results) batches_.note(r.done.size(), r.seconds);
    }
    for (BatchResult& r : results) take(std::move(r));
    return !results.empty();
  }

  void take(BatchResult result) {
    for (Done& d : result.done) {
      guard([&] {
        task_.deliver(d.unit, std::move(d.bytes));
        ++delivered_;
      });
    }
    if (!result.failure) return;
    // Failures of units take precedence over ranks that were asked to stop.
    const auto rank = [](const Failure& f) {
      return std::pair(f.kind == Failure::kInterrupted, f.unit);
    };
    if (!failure_ || rank(*result.failure) < rank(*failure_)) failure_ = std::move(result.failure);
  }

  /// Makes a call, unless one has thrown before: then the ranks are only sent home.
  template <typename Call>
  void guard(Call call) {
    if (trouble_) return;
    try {
      call();
    } catch (...) {
      trouble_ = std::current_exception();
      const std::lock_guard lock(mutex_);
      batches_.end();
    }
  }

  const MpiExecutor& executor_;
  const Task& task_;
  int others_;
  Outbox outbox_;
  int ended_credits_ = 0;
  std::size_t delivered_ = 0;
  std::exception_ptr trouble_;  // exception thrown by deliver or tick
  std::optional<Failure> failure_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Batches batches_;
  std::vector<BatchResult> local_;
  bool local_done_ = false;
};

void MpiExecutor::run(const Task& task) {
  agree(std::to_string(task.units));
  if (is_owner()) {
    Owner(*this, task).run();
  } else {
    help(task);
  }
}

void MpiExecutor::help(const Task& task) {
  BatchWorker worker(task, stop_);
  Outbox outbox;
  for (int i = 0; i < kCredits; ++i) outbox.send("", 0, kResultTag);
  for (int ended = 0; ended < kCredits;) {
    std::string bytes(2 * sizeof(std::uint64_t), '\0');
    MPI_Request request;
    mpi().irecv(bytes.data(), static_cast<int>(bytes.size()), mpi().byte, 0, kBatchTag, mpi().world,
                &request);
    wait(request);
    std::string_view view = bytes;
    Batch batch;
    batch.first = take<std::uint64_t>(view).value();
    batch.count = take<std::uint64_t>(view).value();
    if (batch.count == 0) {
      ++ended;
    } else {
      outbox.send(result_of(worker, batch), 0, kResultTag);
    }
  }
  for (MPI_Request* request : outbox.open()) wait(*request);
}

}  // namespace

std::unique_ptr<Executor> make_mpi_executor(const std::atomic<bool>* stop) {
  return std::make_unique<MpiExecutor>(stop);
}

}  // namespace retrysim::execution
