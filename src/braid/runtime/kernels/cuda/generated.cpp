#include "braid/runtime/kernels/cuda/generated.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "braid/base/error.h"
#include "braid/runtime/kernels/cuda/cuda_handles.h"

namespace braid::runtime::cuda {
namespace {

// The functions of NVRTC that are used. Its headers need not be there when
// Braid is built.
class Compiler {
 public:
  // Null when the library cannot be found.
  static const Compiler* get() {
    static const Compiler* const made = open();
    return made;
  }

  // Machine code for sm_XY. Throws with the compiler's words.
  std::vector<char> compile(const std::string& text, int architecture) const {
    Program program = nullptr;
    check(create_(&program, text.c_str(), "generated.cu", 0, nullptr, nullptr));
    std::string target = fmt::format("--gpu-architecture=sm_{}", architecture);
    const char* options[] = {target.c_str(), "--std=c++17", "--fmad=false"};
    int result = compile_(program, 3, options);
    std::vector<char> code;
    size_t size = 0;
    if (result == 0 && code_size_(program, &size) == 0) {
      code.resize(size);
      check(code_(program, code.data()));
    }
    std::string log = log_of(program);
    destroy_(&program);
    if (code.empty()) {
      fail_defect("[cuda] a generated kernel does not compile: {}\n{}", log,
                  text);
    }
    return code;
  }

 private:
  using Program = struct Opaque*;

  static const Compiler* open() {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
      if (void* library = dlopen(name, RTLD_NOW)) return bound(library);
    }
    // libtorch knows where its own lies.
    try {
      at::globalContext().getNVRTC();
    } catch (const std::exception&) {
      return nullptr;
    }
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
      if (void* library = dlopen(name, RTLD_NOW)) return bound(library);
    }
    return nullptr;
  }

  static const Compiler* bound(void* library) {
    auto* made = new Compiler;
    bool all = made->bind(library, "nvrtcCreateProgram", made->create_) &&
               made->bind(library, "nvrtcCompileProgram", made->compile_) &&
               made->bind(library, "nvrtcDestroyProgram", made->destroy_) &&
               made->bind(library, "nvrtcGetCUBINSize", made->code_size_) &&
               made->bind(library, "nvrtcGetCUBIN", made->code_) &&
               made->bind(library, "nvrtcGetProgramLogSize", made->log_size_) &&
               made->bind(library, "nvrtcGetProgramLog", made->log_);
    return all ? made : nullptr;
  }

  template <class Function>
  static bool bind(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }

  static void check(int result) {
    if (result != 0) fail_world("[cuda] NVRTC fails with code {}", result);
  }

  std::string log_of(Program program) const {
    size_t size = 0;
    if (log_size_(program, &size) != 0 || size == 0) return "";
    std::string log(size, ' ');
    log_(program, log.data());
    return log;
  }

  int (*create_)(Program*, const char* text, const char* name, int,
                 const char* const*, const char* const*) = nullptr;
  int (*compile_)(Program, int count, const char* const* options) = nullptr;
  int (*destroy_)(Program*) = nullptr;
  int (*code_size_)(Program, size_t*) = nullptr;
  int (*code_)(Program, char*) = nullptr;
  int (*log_size_)(Program, size_t*) = nullptr;
  int (*log_)(Program, char*) = nullptr;
};

int architecture_of(int device) {
  int major = 0, minor = 0;
  check_cuda(
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
      "cudaDeviceGetAttribute");
  check_cuda(
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
      "cudaDeviceGetAttribute");
  return 10 * major + minor;
}

cudaKernel_t loaded(const std::vector<char>& code, const char* name) {
  cudaLibrary_t library = nullptr;
  check_cuda(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0,
                                 nullptr, nullptr, 0),
             "cudaLibraryLoadData");
  cudaKernel_t kernel = nullptr;
  check_cuda(cudaLibraryGetKernel(&kernel, library, name),
             "cudaLibraryGetKernel");
  return kernel;
}

}  // namespace

bool can_generate() { return Compiler::get() != nullptr; }

cudaKernel_t generated_kernel(int device, const std::string& text,
                              const char* name) {
  static std::mutex mutex;
  static auto* const kernels =
      new std::map<std::pair<int, std::string>, cudaKernel_t>;
  int architecture = architecture_of(device);
  std::lock_guard lock(mutex);
  auto [at, fresh] = kernels->try_emplace({architecture, text}, nullptr);
  if (at->second) return at->second;
  const Compiler* compiler = Compiler::get();
  if (!compiler) fail_world("[cuda] there is no NVRTC to make kernels with");
  return at->second = loaded(compiler->compile(text, architecture), name);
}

}  // namespace braid::runtime::cuda
