// SPDX-License-Identifier: Apache-2.0
// NCCL and CUDA themselves. NCCL must use the emulated network: TCP from the interface of the worker's
// address, no shortcut through the machine's memory or buses, and the ring with its simple protocol. That
// protocol's bytes are those of the all-reduce formula; the low-latency protocols send a flag beside every
// word. NCCL takes each worker for a machine of its own, and so allows several on one GPU.
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <nccl.h>
#include <netinet/in.h>

#include "trainer/base/device.hh"
#include "trainer/collectives/backends/nccl/cuda_handles.hh"
#include "trainer/collectives/backends/nccl/nccl_group.hh"

namespace thinpipe::trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto max_nap = std::chrono::microseconds(200);

// Returns the name of the interface that has this IPv4 address.
std::string interface_of(const std::string& address) {
  ifaddrs* first = nullptr;
  system_call("list network interfaces", getifaddrs(&first));
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(first, freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* const socket_address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    inet_ntop(AF_INET, &socket_address->sin_addr, text.data(), text.size());
    if (address == text.data()) return each->ifa_name;
  }
  throw Error(fmt::format("find the network interface of {}: none has this address", address));
}

// NCCL reads these variables at its first call in a process.
void bind_to_interface(const std::string& address, int rank) {
  const std::string interface = "=" + interface_of(address);
  const std::string machine = fmt::format("thinpipe-{}", rank);
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"NCCL_SOCKET_IFNAME", interface.c_str()},
                                                                  {"NCCL_HOSTID", machine.c_str()},
                                                                  {"NCCL_NET", "Socket"},
                                                                  {"NCCL_IB_DISABLE", "1"},
                                                                  {"NCCL_P2P_DISABLE", "1"},
                                                                  {"NCCL_SHM_DISABLE", "1"},
                                                                  {"NCCL_MNNVL_ENABLE", "0"},
                                                                  {"NCCL_ALGO", "Ring"},
                                                                  {"NCCL_PROTO", "Simple"}}) {
    system_call(fmt::format("set {}", name), setenv(name, value, 1));
  }
}

ncclDataType_t nccl_type(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat32:
      return ncclFloat32;
    case torch::kFloat16:
      return ncclFloat16;
    case torch::kBFloat16:
      return ncclBfloat16;
    case torch::kInt8:
      return ncclInt8;
    case torch::kInt32:
      return ncclInt32;
    case torch::kInt64:
      return ncclInt64;
    default:
      throw Error(fmt::format("the nccl backend does not sum {}", c10::toString(type)));
  }
}

// Each thread has its own current GPU.
void use(int device) {
  cuda_call(fmt::format("select GPU {}", device), cudaSetDevice(device));
}

class CudaGroup : public NcclGroup {
 public:
  // Uses the calling thread's GPU.
  CudaGroup(const GroupOptions& group_options, const ncclUniqueId& id, double timeout_s)
      : device_(gpu_of(group_options.rank)), timeout_s_(timeout_s) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // so that a missing peer is a time-out
    try {
      const std::string attempt =
          fmt::format("connect as rank {} of {} by NCCL", group_options.rank, group_options.world_size);
      begin(attempt, ncclCommInitRankConfig(&communicator_, group_options.world_size, id, group_options.rank,
                                            &config));
      wait(attempt, timeout_s, [] { return true; });
    } catch (...) {
      abort();
      throw;
    }
  }

  ~CudaGroup() override { abort(); }
  CudaGroup(const CudaGroup&) = delete;
  CudaGroup& operator=(const CudaGroup&) = delete;
  CudaGroup(CudaGroup&&) = delete;
  CudaGroup& operator=(CudaGroup&&) = delete;

  std::byte* reserve(std::size_t bytes) override { return memory_.of_at_least(bytes); }

  void follow_caller() override {
    use(device_);
    ready_.record(c10::cuda::getCurrentCUDAStream());
    ready_.block(stream_.get());
  }

  void upload(std::span<const std::byte> host, std::byte* device) override {
    cuda_call(fmt::format("copy {} bytes to the GPU", host.size()),
              cudaMemcpyAsync(device, host.data(), host.size(), cudaMemcpyHostToDevice, stream_.get()));
  }

  void download(const std::byte* device, std::span<std::byte> host) override {
    cuda_call(fmt::format("copy {} bytes from the GPU", host.size()),
              cudaMemcpyAsync(host.data(), device, host.size(), cudaMemcpyDeviceToHost, stream_.get()));
  }

  void all_reduce(std::byte* data, std::int64_t elements, torch::ScalarType type,
                  Reduction reduction) override {
    queue("queue an all-reduce",
          ncclAllReduce(data, data, static_cast<std::size_t>(elements), nccl_type(type),
                        reduction == Reduction::sum ? ncclSum : ncclMax, communicator_, stream_.get()));
  }

  void add(std::byte* into, std::span<const std::byte* const> parts, std::int64_t elements,
           torch::ScalarType type) override {
    const c10::cuda::CUDAStreamGuard guard(
        c10::cuda::getStreamFromExternal(stream_.get(), static_cast<c10::DeviceIndex>(device_)));
    const auto tensor_at = [&](const std::byte* data) {
      const auto options =
          torch::TensorOptions(torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(device_)));
      return torch::from_blob(const_cast<std::byte*>(data), {elements}, options.dtype(type));
    };
    torch::Tensor sum = tensor_at(into);
    const bool widens = type == torch::kFloat16 || type == torch::kBFloat16;
    torch::Tensor total = widens ? sum.to(torch::kFloat) : sum;
    for (const std::byte* part : parts) total.add_(tensor_at(part));
    if (widens) sum.copy_(total);
  }

  void broadcast(std::span<const Block> blocks) override {
    begin("begin a group of broadcasts", ncclGroupStart());
    for (const Block& block : blocks) {
      begin(fmt::format("queue the broadcast of rank {}", block.rank),
            ncclBroadcast(block.data, block.data, block.bytes, ncclUint8, block.rank, communicator_,
                          stream_.get()));
    }
    queue("queue a group of broadcasts", ncclGroupEnd());
  }

  void exchange(std::span<const Block> sent, std::span<const Block> received) override {
    begin("begin a group of messages", ncclGroupStart());
    for (const Block& block : sent) {
      begin(fmt::format("queue a message to rank {}", block.rank),
            ncclSend(block.data, block.bytes, ncclUint8, block.rank, communicator_, stream_.get()));
    }
    for (const Block& block : received) {
      begin(fmt::format("queue a message from rank {}", block.rank),
            ncclRecv(block.data, block.bytes, ncclUint8, block.rank, communicator_, stream_.get()));
    }
    queue("queue a group of messages", ncclGroupEnd());
  }

  void finish(double timeout_s) override {
    done_.record(stream_.get());
    wait("exchange by NCCL", timeout_s, [this] { return done_.query(); });
  }

  void abort() noexcept override {
    if (communicator_ == nullptr) return;
    ncclCommAbort(communicator_);
    communicator_ = nullptr;
    cudaStreamSynchronize(stream_.get());  // after this, the caller may reuse the memory
  }

 private:
  // Checks the result of a call that a non-blocking communicator may continue in the background.
  void begin(std::string_view attempt, ncclResult_t result) const {
    if (result != ncclSuccess && result != ncclInProgress) fail(attempt, result);
  }

  // Waits until NCCL has put the operation on the stream: a non-blocking communicator does so in a thread of its
  // own, and takes no other operation meanwhile.
  void queue(std::string_view attempt, ncclResult_t result) const {
    begin(attempt, result);
    wait(attempt, timeout_s_, [] { return true; });
  }

  // Waits until NCCL has finished and `done` returns true.
  void wait(std::string_view attempt, double timeout_s, const auto& done) const {
    const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
    for (auto nap = std::chrono::microseconds(10);; nap = std::min(2 * nap, max_nap)) {
      ncclResult_t state = ncclSuccess;
      begin(attempt, ncclCommGetAsyncError(communicator_, &state));
      begin(attempt, state);
      if (state == ncclSuccess && done()) return;
      if (Clock::now() > deadline)
        throw Error(fmt::format("{}: not finished after {:g} s", attempt, timeout_s));
      std::this_thread::sleep_for(nap);
    }
  }

  [[noreturn]] void fail(std::string_view attempt, ncclResult_t result) const {
    throw Error(
        fmt::format("{}: {}: {}", attempt, ncclGetErrorString(result), ncclGetLastError(communicator_)));
  }

  int device_;
  double timeout_s_;
  // Destroyed after the communicator, whose work uses the stream and the memory.
  CudaStream stream_;
  CudaEvent ready_;
  CudaEvent done_;
  DeviceMemory memory_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace

std::unique_ptr<NcclGroup> open_nccl_group(const GroupOptions& group_options, Collective& gloo,
                                           double timeout_s) {
  bind_to_interface(group_options.address, group_options.rank);
  use(gpu_of(group_options.rank));
  ncclUniqueId id{};
  if (group_options.rank == 0) {
    const ncclResult_t result = ncclGetUniqueId(&id);
    if (result != ncclSuccess) {
      throw Error(fmt::format("create NCCL's rendezvous at {}: {}", group_options.address,
                              ncclGetErrorString(result)));
    }
  }
  const torch::Tensor shared = torch::from_blob(&id, {static_cast<std::int64_t>(sizeof id)}, torch::kUInt8);
  gloo.broadcast(shared, 0);
  return std::make_unique<CudaGroup>(group_options, id, timeout_s);
}

std::optional<std::string> nccl_version() {
  int version = 0;
  const ncclResult_t result = ncclGetVersion(&version);
  if (result != ncclSuccess) throw Error(fmt::format("get NCCL's version: {}", ncclGetErrorString(result)));
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace thinpipe::trainer
