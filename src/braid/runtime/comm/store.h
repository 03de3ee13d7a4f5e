// Store: a few words that processes on several hosts share while they run.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace braid::runtime {

// Where a store is kept.
struct Endpoint {
  std::string host = {};
  int port = 0;

  bool operator==(const Endpoint&) const = default;
  std::string text() const;  // "host:29500"
};

// "host:29500". Throws std::invalid_argument for other texts.
Endpoint parse_endpoint(const std::string& text);

// Thread-safe. Calls block for as long as a message goes there and back, and
// throw std::runtime_error when the store is gone.
class Store {
 public:
  virtual ~Store() = default;

  virtual std::optional<std::string> get(const std::string& key) = 0;
  // Writes `wanted` where the key holds `expected`, which is empty for a key
  // that nobody has written; whether it holds `wanted` now.
  virtual bool replace(const std::string& key, const std::string& expected,
                       const std::string& wanted) = 0;
};

// Of one process, for tests.
class LocalStore : public Store {
 public:
  std::optional<std::string> get(const std::string& key) override;
  bool replace(const std::string& key, const std::string& expected,
               const std::string& wanted) override;

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> words_;
};

// --- over a network (c10d/tcp_store.cpp)

// Keeps a store for others while it lives.
class StoreHost {
 public:
  virtual ~StoreHost() = default;
  virtual int port() const = 0;
};

// Port 0: one that is free. Throws std::runtime_error where it cannot be had.
std::unique_ptr<StoreHost> host_store(int port);

// Throws std::runtime_error when nobody answers for so long; later calls wait
// no longer than that either. Keys begin with `prefix`, so that several may
// share a store.
std::unique_ptr<Store> connect_store(const Endpoint& endpoint,
                                     const std::string& prefix,
                                     std::chrono::milliseconds timeout);

}  // namespace braid::runtime
