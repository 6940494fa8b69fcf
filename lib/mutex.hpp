// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Mutexes, locks and a condition variable: those of the standard library, with the attributes that clang's -Wthread-safety
// checks. Members name the mutex that guards them, functions name the mutex that their caller must hold, and clang rejects
// an access without it. Constructors and destructors are not checked: other threads do not use the object then.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define SLUICE_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define SLUICE_THREAD_SAFETY(attribute)
#endif

// The class is a mutex; the text is its name in warnings.
#define SLUICE_CAPABILITY(text) SLUICE_THREAD_SAFETY(capability(text))
// The class locks a mutex in its constructor and unlocks it in its destructor.
#define SLUICE_SCOPED_CAPABILITY SLUICE_THREAD_SAFETY(scoped_lockable)
// Each access to the variable needs the mutex; a shared lock is enough to read.
#define SLUICE_GUARDED_BY(mutex) SLUICE_THREAD_SAFETY(guarded_by(mutex))
// Each access to the object that the pointer points to needs the mutex.
#define SLUICE_PT_GUARDED_BY(mutex) SLUICE_THREAD_SAFETY(pt_guarded_by(mutex))
// The caller of the function must hold the mutexes, before and after the call.
#define SLUICE_REQUIRES(...) SLUICE_THREAD_SAFETY(requires_capability(__VA_ARGS__))
// The caller of the function must not hold the mutexes, because the function locks them.
#define SLUICE_EXCLUDES(...) SLUICE_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
// The function locks the mutexes and returns while it holds them.
#define SLUICE_ACQUIRE(...) SLUICE_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
// The function locks the mutexes shared and returns while it holds them.
#define SLUICE_ACQUIRE_SHARED(...) SLUICE_THREAD_SAFETY(acquire_shared_capability(__VA_ARGS__))
// The function unlocks the mutexes that its caller holds.
#define SLUICE_RELEASE(...) SLUICE_THREAD_SAFETY(release_capability(__VA_ARGS__))
// The function unlocks the mutexes that its caller holds shared.
#define SLUICE_RELEASE_SHARED(...) SLUICE_THREAD_SAFETY(release_shared_capability(__VA_ARGS__))
// The function has locked the mutex if it returns the value `result`.
#define SLUICE_TRY_ACQUIRE(result) SLUICE_THREAD_SAFETY(try_acquire_capability(result))
// The function returns a reference to the mutex.
#define SLUICE_RETURN_CAPABILITY(mutex) SLUICE_THREAD_SAFETY(lock_returned(mutex))

namespace sluice::lib {

class SLUICE_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() noexcept = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() SLUICE_ACQUIRE() { mutex_.lock(); }
  void unlock() SLUICE_RELEASE() { mutex_.unlock(); }
  bool try_lock() SLUICE_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
};

class SLUICE_CAPABILITY("mutex") TimedMutex {
 public:
  TimedMutex() = default;
  TimedMutex(const TimedMutex&) = delete;
  TimedMutex& operator=(const TimedMutex&) = delete;

  void lock() SLUICE_ACQUIRE() { mutex_.lock(); }
  void unlock() SLUICE_RELEASE() { mutex_.unlock(); }
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout) SLUICE_TRY_ACQUIRE(true) {
    return mutex_.try_lock_for(timeout);
  }

 private:
  std::timed_mutex mutex_;
};

class SLUICE_CAPABILITY("mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() SLUICE_ACQUIRE() { mutex_.lock(); }
  void unlock() SLUICE_RELEASE() { mutex_.unlock(); }
  void lock_shared() SLUICE_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() SLUICE_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

// Holds a mutex of any of these types until the end of the block.
template <class AnyMutex>
class SLUICE_SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(AnyMutex& mutex) SLUICE_ACQUIRE(mutex) : mutex_(mutex) { mutex.lock(); }
  // Unlocks at the end of the block what the caller has locked.
  Lock(AnyMutex& mutex, std::adopt_lock_t) SLUICE_REQUIRES(mutex) : mutex_(mutex) {}
  ~Lock() SLUICE_RELEASE() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  AnyMutex& mutex_;
};

// Holds a mutex until the end of the block, where other locks may hold it shared as well.
class SLUICE_SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) SLUICE_ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex.lock_shared(); }
  ~SharedLock() SLUICE_RELEASE() { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// Like Lock, and can be unlocked and locked again within the block.
class SLUICE_SCOPED_CAPABILITY UniqueLock {
 public:
  explicit UniqueLock(Mutex& mutex) SLUICE_ACQUIRE(mutex) : lock_(mutex) {}
  ~UniqueLock() SLUICE_RELEASE() {}
  UniqueLock(const UniqueLock&) = delete;
  UniqueLock& operator=(const UniqueLock&) = delete;

  void lock() SLUICE_ACQUIRE() { lock_.lock(); }
  void unlock() SLUICE_RELEASE() { lock_.unlock(); }

 private:
  std::unique_lock<Mutex> lock_;
};

// Unlocks a mutex that the caller holds, and locks it again at the end of the block.
class SLUICE_SCOPED_CAPABILITY Unlock {
 public:
  explicit Unlock(Mutex& mutex) SLUICE_RELEASE(mutex) : mutex_(mutex) { mutex.unlock(); }
  ~Unlock() SLUICE_RELEASE() { mutex_.lock(); }
  Unlock(const Unlock&) = delete;
  Unlock& operator=(const Unlock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits take the mutex, not the lock, so that clang can check that the caller holds it. They unlock it while they wait and may
// return early, so the caller waits in a loop: clang does not see that a predicate runs under the lock.
//   while (items_.empty() && changed_.wait_until(mutex_, deadline)) {
//   }
class ConditionVariable {
 public:
  void wait(Mutex& mutex) SLUICE_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // Returns false after the deadline. A wait without a limit is wait(): the deadline of a clock may not be its maximum.
  template <class Clock, class Duration>
  bool wait_until(Mutex& mutex, const std::chrono::time_point<Clock, Duration>& deadline) SLUICE_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, deadline);
    lock.release();
    return status == std::cv_status::no_timeout;
  }
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace sluice::lib
