// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/doctor.hh"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/support/file_descriptor.hh"
#include "harness/machine/cpu_usage.hh"
#include "harness/plan/trainer_program.hh"
#include "netem/kernel/kernel_features.hh"
#include "netem/kernel/probe.hh"
#include "netem/kernel/wakeup_latency.hh"
#include "netem/network.hh"
#include "netem/topology/hops.hh"

namespace thinpipe {
namespace {

// A machine that fills less than this share of a topology's caps is too slow for it.
constexpr double enough_of_caps = 0.97;
// A sleeping thread may wake up late by at most the length of the shortest burst.
constexpr double latest_wake_up_s = 100e-6;

std::string qdisc_remedy(const std::string& kind) {
  return fmt::format(
      "load it with \"sudo modprobe sch_{}\"; if there is no such module, install the distribution's extra "
      "modules (linux-modules-extra-$(uname -r) on Ubuntu, kernel-modules-extra on Fedora) or boot a "
      "kernel that has it, such as Debian's linux-image-amd64",
      kind);
}

Finding examine_qdisc(const std::string& kind, bool needed, const std::string& use) {
  Finding finding{.name = "qdisc " + kind, .needed = needed};
  const auto obstacle = netem::obstacle_to_qdisc(kind);
  finding.ok = !obstacle;
  finding.found = "for " + use + (obstacle ? ": " + *obstacle : "");
  if (obstacle) finding.remedy = qdisc_remedy(kind);
  return finding;
}

// Of the disciplines that drop or mark frames before the queue is full.
Finding examine_active_queueing(netem::Queueing queueing) {
  const std::string kind = netem::name_of(queueing);
  const auto obstacle = netem::obstacle_to_active_queueing(queueing);
  return {.name = "qdisc " + kind,
          .ok = !obstacle,
          .found = fmt::format("for \"queueing\": \"{}\"{}", kind, obstacle ? ": " + *obstacle : ""),
          .remedy = qdisc_remedy(kind)};
}

Finding examine_fair_queueing() {
  const auto obstacle = netem::obstacle_to_fair_queueing();
  return {.name = "fair queueing",
          .ok = !obstacle,
          .needed = true,
          .found = "qdisc htb and classifier bpf, for links that flows share evenly" +
                   (obstacle ? ": " + *obstacle : ""),
          .remedy =
              "load them with \"sudo modprobe -a sch_htb cls_bpf\", or set \"queueing\": \"fifo\" in a "
              "topology of your own"};
}

Finding examine_congestion_controls() {
  const std::vector<std::string> usable = netem::usable_congestion_controls();
  const std::string wanted = netem::default_congestion_control;
  return {.name = "congestion controls",
          .ok = std::ranges::find(usable, wanted) != usable.end(),
          .needed = true,
          .found = fmt::format("sockets can use {}", fmt::join(usable, ", ")),
          .remedy = fmt::format("load it with \"sudo modprobe tcp_{}\"", wanted)};
}

// Returns the CPU time of this process and of the network's interrupts.
double spent_s() {
  return read_cpu_usage().own_s + read_machine_time().soft_interrupts_s;
}

// Fills every capped link in both directions at once.
Finding examine_cpus(const netem::Network& network) {
  std::vector<std::pair<const netem::Host*, const netem::Host*>> flows;
  double caps_bit_per_s = 0;
  const netem::Topology& topology = network.topology();
  const netem::HostPaths paths(topology);
  for (const netem::Hop& hop : netem::capped_hops(topology)) {
    const auto pair = paths.hosts_across(hop);
    if (!pair) continue;
    const auto& [from, to] = *pair;
    caps_bit_per_s += *netem::narrowest(paths.between(from, to))->rate_bit_per_s();
    flows.emplace_back(&network.host(from), &network.host(to));
  }
  const unsigned cores = std::thread::hardware_concurrency();
  Finding finding{.name = "cpus", .ok = true};
  if (flows.empty()) {
    finding.found = fmt::format("{} cores; {} has no caps to fill", cores, topology.name);
    return finding;
  }
  const auto started = std::chrono::steady_clock::now();
  const double spent_before_s = spent_s();
  double goodput_bit_per_s = 0;
  for (const double flow : netem::measure_goodput(flows, {.settle_s = 0.3, .measure_s = 1})) {
    goodput_bit_per_s += flow;
  }
  const double elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const double used_cores = (spent_s() - spent_before_s) / elapsed_s;
  const double share = goodput_bit_per_s / caps_bit_per_s / topology.frame.goodput_of_cap();
  finding.ok = share >= enough_of_caps;
  finding.found = fmt::format(
      "{} cores; filling the {} caps of {} at once, {} in all, took {:.2f} cores and reached {:.3f} of the "
      "possible goodput",
      cores, flows.size(), topology.name, format_quantity(Quantity::rate, caps_bit_per_s), used_cores, share);
  if (!finding.ok) {
    finding.remedy =
        "lower the caps (--set bottleneck.rate=...), use more cores, or end other programs; repeat this on a "
        "quiet machine before you judge";
  }
  return finding;
}

// Measures how late sleeping threads wake up, with cores that may sleep and with cores that are kept awake.
Finding examine_wake_ups() {
  constexpr int sleeps = 200;
  const auto told = [](const netem::WakeupLatency& wakeup_latency) {
    return fmt::format("{:.0f} us late, 99 % within {:.0f} us", 1e6 * wakeup_latency.quantile_s(0.5),
                       1e6 * wakeup_latency.quantile_s(0.99));
  };
  const netem::WakeupLatency asleep = netem::measure_wakeup_latency(sleeps);
  if (const auto obstacle = netem::obstacle_to_awake_cores()) {
    return {.name = "wake-ups",
            .ok = asleep.quantile_s(0.5) <= latest_wake_up_s,
            .found = fmt::format("sleeping threads wake up {}; cores cannot be kept awake: {}", told(asleep),
                                 *obstacle),
            .remedy =
                "raise the quota, or give this process fewer CPUs (taskset), so that cores can be kept "
                "awake. Shapers wake up as late, which makes links slower than their caps"};
  }
  const netem::AwakeCores awake_cores;
  const netem::WakeupLatency awake = netem::measure_wakeup_latency(sleeps);
  return {.name = "wake-ups",
          .ok = awake.quantile_s(0.5) <= latest_wake_up_s,
          .found = fmt::format("sleeping threads wake up {}; while cores are kept awake, {}", told(asleep),
                               told(awake)),
          .remedy =
              "end other programs; a virtual machine's host may be busy. Shapers wake up as late, which "
              "makes links slower than their caps"};
}

std::vector<Finding> examine_topology(const netem::Topology& topology, netem::IdleCores idle_cores) {
  Finding built{.name = "virtual network", .needed = true};
  std::vector<Finding> out;
  try {
    const auto started = std::chrono::steady_clock::now();
    const netem::Network network(topology, {}, idle_cores);
    const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    built.ok = network.has_congestion_control();
    built.found = fmt::format("{} with {} hosts built in {:.0f} ms; its sockets use {}", topology.name,
                              network.hosts().size(), 1e3 * took_s, network.congestion_control());
    out.push_back(built);
    out.push_back(examine_cpus(network));
  } catch (const std::exception& error) {
    built.ok = false;
    built.found = fmt::format("{} cannot be built: {}", topology.name, error.what());
    built.remedy = "see the other findings for the cause";
    out.push_back(built);
  }
  return out;
}

Finding examine_priorities() {
  Finding finding{.name = "priorities", .needed = true};
  std::thread([&finding] {  // a lowered priority cannot be raised again without a privilege
    const bool nice = ::setpriority(PRIO_PROCESS, 0, 19) == 0 && ::getpriority(PRIO_PROCESS, 0) == 19;
    const sched_param none{};
    const bool idle = ::sched_setscheduler(0, SCHED_IDLE, &none) == 0;
    finding.ok = nice;
    finding.found = fmt::format("a thread may lower itself to nice 19: {}; to SCHED_IDLE: {}",
                                nice ? "yes" : "no", idle ? "yes" : "no");
  })
      .join();
  if (!finding.ok) finding.remedy = "allow setpriority, which a container's seccomp filter may forbid";
  return finding;
}

// Returns whether only the user knows where the data are.
bool has_no_default(const Json& entry) {
  return std::ranges::any_of(entry.value("options", Json::array()),
                             [](const Json& option) { return option.value("required", false); });
}

// Returns a trainer's configuration, as text, with this data set and its defaults.
std::string with_dataset(const std::string& name) {
  return Json{{"workers", 1}, {"dataset", {{"name", name}}}}.dump();
}

// Returns whether the files are the user's own, so that no default names them.
bool is_of_the_user(const Json& dataset) {
  const Json options = dataset.value("options", Json::array());
  return std::ranges::any_of(options, [](const Json& option) {
    return option.at("key") == "directory" && option.value("default", Json()) == "";
  });
}

std::vector<Finding> examine_datasets(const TrainerProgram& trainer, const Json& described) {
  std::vector<Finding> out;
  ConfigChecker checker(trainer);
  for (const auto& [name, entry] : described.items()) {
    if (is_of_the_user(entry) || has_no_default(entry)) continue;
    const CheckedConfig checked = checker.check(with_dataset(name));
    Finding& finding = out.emplace_back();
    finding.name = "data set " + name;
    // Errors elsewhere, such as a model that does not read text, do not concern the data.
    std::vector<Remark> remarks = checked.missing;
    if (!checked.ok) remarks.push_back(checked.wrong);
    const auto obstacle = std::ranges::find_if(
        remarks, [](const Remark& remark) { return remark.pointer.starts_with("/dataset"); });
    finding.ok = obstacle == remarks.end();
    finding.found = finding.ok ? "the trainer can read it" : obstacle->message;
    if (finding.ok) continue;
    for (const Json& option : entry.value("options", Json::array())) {
      finding.remedy +=
          fmt::format("{}\"{}\": {}", finding.remedy.empty() ? "" : "; ", option.at("key").get<std::string>(),
                      option.at("effect").get<std::string>());
    }
  }
  return out;
}

// Returns the folder of this process's group in the unified hierarchy; nullopt if there is none.
std::optional<std::string> own_cgroup(const std::string& proc) {
  std::optional<std::string> mount_point;
  std::istringstream mounts(read_file(proc + "/self/mountinfo"));
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string id, parent, device, root, point;
    fields >> id >> parent >> device >> root >> point;
    mount_point = point;
  }
  std::istringstream groups(read_file(proc + "/self/cgroup"));
  for (std::string line; mount_point && std::getline(groups, line);) {
    if (line.starts_with("0::")) return *mount_point + (line.substr(3) == "/" ? "" : line.substr(3));
  }
  return std::nullopt;
}

}  // namespace

std::vector<Finding> examine_network(const netem::Topology& topology, netem::IdleCores idle_cores) {
  std::vector<Finding> out = {
      {.name = "user namespaces",
       .ok = true,
       .needed = true,
       .found = "created user, network, mount, PID and IPC namespaces, and mounted /proc in them"}};
  out.push_back(examine_qdisc("tbf", true, "caps"));
  out.push_back(examine_qdisc("bfifo", true, "queues in bytes"));
  out.push_back(examine_fair_queueing());
  out.push_back(examine_qdisc("netem", false, "delay, jitter, loss, duplication, reordering"));
  out.push_back(examine_qdisc("fq", false, "pacing per flow, which bbr prefers"));
  for (const netem::Queueing queueing : netem::queueings) {
    if (is_active(queueing)) out.push_back(examine_active_queueing(queueing));
  }
  out.push_back(examine_congestion_controls());
  out.push_back(examine_wake_ups());
  std::ranges::move(examine_topology(topology, idle_cores), std::back_inserter(out));
  out.push_back(examine_priorities());
  return out;
}

std::vector<Finding> examine_trainer() {
  std::vector<Finding> out;
  Finding program{.name = "worker program", .needed = true};
  try {
    const TrainerProgram trainer = TrainerProgram::find();
    const Json described = trainer.describe();
    program.ok = true;
    program.found = trainer.path() + " answers";
    out.push_back(program);
    const Json& libraries = described.at("libraries");
    const auto library = [&](const std::string& key) {
      return libraries.contains(key) ? libraries[key].get<std::string>() : "";
    };
    out.push_back({.name = "LibTorch",
                   .ok = !library("libtorch").empty(),
                   .needed = true,
                   .found = fmt::format("the worker program runs with {}", library("libtorch")),
                   .remedy = "install libtorch-dev, or set Torch_DIR, and build thinpipe-trainer"});
    const Json& collectives = described.at("collectives");
    out.push_back({.name = "Gloo",
                   .ok = collectives.contains("gloo"),
                   .needed = true,
                   .found = collectives.contains("gloo")
                                ? fmt::format("{} from {}", library("gloo"), library("gloo_file"))
                                : "the worker program has no collective of this name",
                   .remedy = "install libgloo-dev and build thinpipe-trainer"});
    out.push_back({.name = "NCCL",
                   .ok = !library("nccl").empty(),
                   .found = library("nccl").empty()
                                ? "the worker program was built without it"
                                : fmt::format("{}, for workers with a GPU each", library("nccl")),
                   .remedy = "build thinpipe-trainer with a LibTorch for CUDA and NCCL's header beside it "
                             "(docs/explanation/training.md); without it, gradients go through main memory"});
    const std::int64_t devices = described.value("cuda_devices", std::int64_t{0});
    out.push_back(
        {.name = "CUDA",
         .ok = devices > 0,
         .found = described.contains("cuda_devices")
                      ? fmt::format("LibTorch sees {} device{}", devices, devices == 1 ? "" : "s")
                      : "this worker program is too old to report devices",
         .remedy = "install NVIDIA's driver and a LibTorch built for CUDA, set Torch_DIR to it, and build "
                   "thinpipe-trainer; without a GPU, workers compute on the CPU"});
    std::ranges::move(examine_datasets(trainer, described.at("datasets")), std::back_inserter(out));
  } catch (const std::exception& error) {
    if (out.empty()) out.push_back(program);
    out.front().ok = false;
    out.front().found = error.what();
    out.front().remedy = "build the target thinpipe-trainer, as ./quickstart.sh does";
  }
  return out;
}

Finding examine_cgroups(const std::string& proc) {
  Finding finding{
      .name = "control groups",
      .remedy =
          "run it in its own group: systemd-run --user --scope -p Delegate=yes thinpipe ...; runs do not "
          "need control groups"};
  try {
    const auto group = own_cgroup(proc);
    if (!group) {
      finding.found = "no version 2 hierarchy is mounted";
      return finding;
    }
    const std::string made = fmt::format("{}/thinpipe-doctor-{}", *group, ::getpid());
    if (::mkdir(made.c_str(), 0755) != 0) {
      finding.found = fmt::format("cannot create a group below {}: {}", *group, std::strerror(errno));
      return finding;
    }
    std::ifstream file(made + "/cgroup.controllers");
    std::string controllers;
    std::getline(file, controllers);
    finding.ok = true;
    finding.found = fmt::format("can create groups below {}; controllers in them: {}", *group,
                                controllers.empty() ? "none" : controllers);
    system_call("remove " + made, ::rmdir(made.c_str()));
  } catch (const std::system_error& error) {
    finding.ok = false;
    finding.found = error.what();
  }
  return finding;
}

Finding no_sandbox(const std::string& why) {
  return {
      .name = "user namespaces",
      .needed = true,
      .found = why,
      .remedy =
          "until then, topologies of kind \"loopback\" work: thinpipe run experiments/smoke-loopback.json"};
}

bool ready(const std::vector<Finding>& findings) {
  return std::ranges::all_of(findings, [](const Finding& finding) { return finding.ok || !finding.needed; });
}

Json to_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"name", finding.name},
                    {"ok", finding.ok},
                    {"needed", finding.needed},
                    {"found", finding.found},
                    {"remedy", finding.ok ? Json(nullptr) : Json(finding.remedy)}});
  }
  return {{"ready", ready(findings)}, {"findings", std::move(list)}};
}

std::vector<Finding> findings_from_json(const Json& value) {
  std::vector<Finding> out;
  for (const Json& one : value.at("findings")) {
    out.push_back({.name = one.at("name"),
                   .ok = one.at("ok"),
                   .needed = one.at("needed"),
                   .found = one.at("found"),
                   .remedy = one.at("remedy").is_null() ? "" : one.at("remedy").get<std::string>()});
  }
  return out;
}

std::string format_findings(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) {
    const char* const mark = finding.ok ? "works" : finding.needed ? "FAILS" : "lacks";
    out += fmt::format("{}  {}: {}\n", mark, finding.name, finding.found);
    if (!finding.ok) out += fmt::format("       remedy: {}\n", finding.remedy);
  }
  return out + (ready(findings) ? "This machine has all that a live run needs.\n"
                                : "A live run needs each item that FAILS above.\n");
}

}  // namespace thinpipe
