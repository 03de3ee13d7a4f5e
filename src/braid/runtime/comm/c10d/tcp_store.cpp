// The store of torch's own launchers: a server, and clients over TCP.
#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <functional>
#include <utility>

#include "braid/base/error.h"
#include "braid/runtime/comm/store.h"

namespace braid::runtime {
namespace {

constexpr std::chrono::milliseconds kMostConnecting{1000};

// libtorch's errors end with a stack.
std::string first_line(const std::exception& error) {
  std::string_view text = error.what();
  return std::string(text.substr(0, text.find('\n')));
}

// libtorch says on stderr what its callers hear from errors. While one lives it
// is silent.
class Silence {
 public:
  Silence() : before_(std::exchange(FLAGS_caffe2_log_level, c10::GLOG_FATAL)) {}
  ~Silence() { FLAGS_caffe2_log_level = before_; }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  int before_;
};

class TcpStoreHost : public StoreHost {
 public:
  explicit TcpStoreHost(int port) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(port);
    options.isServer = true;
    options.waitWorkers = false;
    Silence silence;
    try {
      store_ = c10::make_intrusive<c10d::TCPStore>("localhost", options);
    } catch (const std::exception& error) {
      fail_world(
          "[store] port {} cannot be had: {}\n"
          "HINT: without --port one that is free is taken",
          port, first_line(error));
    }
  }
  int port() const override { return store_->getPort(); }

 private:
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

class TcpStore : public Store {
 public:
  TcpStore(Endpoint endpoint, std::string prefix,
           std::chrono::milliseconds timeout)
      : endpoint_(std::move(endpoint)),
        prefix_(std::move(prefix)),
        timeout_(timeout) {
    call([](c10d::Store&) {});
  }

  // get() of a key that nobody wrote would wait for it.
  std::optional<std::string> get(const std::string& key) override {
    std::optional<std::string> word;
    call([&](c10d::Store& store) {
      if (store.check({key})) word = store.get_to_str(key);
    });
    return word;
  }

  // For a key that nobody has written it answers what was expected.
  bool replace(const std::string& key, const std::string& expected,
               const std::string& wanted) override {
    auto bytes = [](const std::string& text) {
      return std::vector<uint8_t>(text.begin(), text.end());
    };
    bool is_there = false;
    call([&](c10d::Store& store) {
      is_there = store.compareSet(key, bytes(expected), bytes(wanted)) ==
                 bytes(wanted);
    });
    return is_there;
  }

 private:
  // A client has one connection, so its calls come one after the other. One
  // that failed is made anew by the next call.
  void call(const std::function<void(c10d::Store&)>& function) {
    std::lock_guard lock(mutex_);
    Silence silence;
    try {
      if (!store_) connect();
      function(*store_);
    } catch (const std::exception& error) {
      store_.reset();
      fail_world("[store] the store at {} does not answer:\n  {}",
                 endpoint_.text(), first_line(error));
    }
  }

  void connect() {
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(endpoint_.port);
    options.waitWorkers = false;
    // Until then it tries again and again, as nobody may be there yet.
    options.timeout = std::min(timeout_, kMostConnecting);
    store_ = c10::make_intrusive<c10d::PrefixStore>(
        prefix_, c10::make_intrusive<c10d::TCPStore>(endpoint_.host, options));
    store_->setTimeout(timeout_);
  }

  Endpoint endpoint_;
  std::string prefix_;
  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  c10::intrusive_ptr<c10d::PrefixStore> store_;
};

}  // namespace

std::unique_ptr<StoreHost> host_store(int port) {
  return std::make_unique<TcpStoreHost>(port);
}

std::unique_ptr<Store> connect_store(const Endpoint& endpoint,
                                     const std::string& prefix,
                                     std::chrono::milliseconds timeout) {
  return std::make_unique<TcpStore>(endpoint, prefix, timeout);
}

}  // namespace braid::runtime
