// Braid as a library with a C interface, for the tests that load it into a
// process of Python which uses torch itself (tests/e2e/guest.py).
//
// A guest trains one built-in model on inputs made from their index. Functions
// return 0, or 1 and leave a text for guest_error.
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "braid/models/models.h"
#include "braid/runtime/machine.h"
#include "braid/train/trainer.h"

namespace {

using namespace braid;

class Guest {
 public:
  Guest(const std::string& model, const std::string& device, int threads,
        int64_t seed)
      : machine_(runtime::this_machine()),
        backend_(
            machine_->open(runtime::device_name(device), runtime::kNoLimit)),
        trainer_(machine_->ops(),
                 models::build_model(machine_->ops(), model, DType::kFloat32),
                 *backend_, options(threads)),
        inputs_(make_inputs(trainer_.graph())) {
    trainer_.initialise({seed});
  }

  double step() {
    trainer_.step([this](int64_t, ValueId id) {
      return inputs_[static_cast<size_t>(id)].data();
    });
    return trainer_.losses().at(0);
  }

  // All slots, one after the other.
  std::vector<std::byte> state() {
    std::vector<std::byte> all;
    for (size_t i = 0; i < trainer_.state().slots().size(); ++i) {
      std::vector<std::byte> one =
          trainer_.state().read(static_cast<SlotId>(i));
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

 private:
  static train::TrainerOptions options(int threads) {
    train::TrainerOptions made{.optimizer = passes::make_optimizer("adamw")};
    made.threads = threads;
    return made;
  }

  // Small floats, and classes below 4.
  static std::vector<std::vector<std::byte>> make_inputs(const Graph& graph) {
    std::vector<std::vector<std::byte>> inputs(graph.values().size());
    for (ValueId id : graph.inputs()) {
      const ValueType& type = graph.value(id).type;
      auto& bytes = inputs[static_cast<size_t>(id)];
      for (int64_t i = 0; i < num_elements(type.shape); ++i) {
        if (type.dtype == DType::kInt64) {
          append(bytes, i % 4);
        } else {
          append(bytes, static_cast<float>(i % 97) / 97 - 0.5f);
        }
      }
    }
    return inputs;
  }

  template <class T>
  static void append(std::vector<std::byte>& bytes, T value) {
    auto* begin = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof value);
  }

  std::unique_ptr<runtime::Machine> machine_;
  std::unique_ptr<runtime::Backend> backend_;
  train::Trainer trainer_;
  std::vector<std::vector<std::byte>> inputs_;  // by value
};

std::string& last_error() {
  thread_local std::string text;
  return text;
}

template <class F>
int guarded(const F& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    last_error() = error.what();
    return 1;
  }
}

}  // namespace

extern "C" {

const char* guest_error() { return last_error().c_str(); }

int guest_open(const char* model, const char* device, int threads,
               long long seed, void** guest) {
  return guarded([&] { *guest = new Guest(model, device, threads, seed); });
}

int guest_step(void* guest, double* loss) {
  return guarded([&] { *loss = static_cast<Guest*>(guest)->step(); });
}

// Bytes of the state; copies as many of them as there is room for.
int guest_state(void* guest, void* to, long long room, long long* bytes) {
  return guarded([&] {
    std::vector<std::byte> all = static_cast<Guest*>(guest)->state();
    *bytes = static_cast<long long>(all.size());
    std::memcpy(to, all.data(),
                std::min(all.size(), static_cast<size_t>(room)));
  });
}

void guest_close(void* guest) { delete static_cast<Guest*>(guest); }
}
