#include "netem/kernel/sandbox.hh"

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/child_process.hh"
#include "common/support/exception.hh"
#include "common/support/tests/paths.hh"

namespace thinpipe::netem {
namespace {

using testing::HasSubstr;

const std::string helper_path = built_program("netem_sandbox_helper");

// The helper in its own process group. Every process that it starts holds its output pipe open.
struct Helper {
  Pipe output = Pipe::create();
  ChildProcess process;

  explicit Helper(
      std::vector<std::string> arguments, const std::function<void()>& before_exec = [] {})
      : process({.arguments = with_path(std::move(arguments)),
                 .standard_output = output.write_end.get(),
                 .before_exec = [&] {
                   system_call("make a process group", ::setpgid(0, 0));
                   before_exec();
                 }}) {
    output.write_end.reset();
  }

  static std::vector<std::string> with_path(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), helper_path);
    return arguments;
  }

  std::string line() const {
    std::string text;
    for (char c = 0; ::read(output.read_end.get(), &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }
};

ExitStatus run_helper(std::vector<std::string> arguments) {
  return Helper(std::move(arguments)).process.wait();
}

TEST(SandboxTest, ThisProcessIsOutside) {
  EXPECT_FALSE(inside_sandbox());
}

TEST(SandboxTest, ReturnsTheProgramsExitCode) {
  EXPECT_EQ(run_helper({"exit", "0"}).describe(), "exit code 0");
  EXPECT_EQ(run_helper({"exit", "5"}).describe(), "exit code 5");
}

TEST(SandboxTest, ReportsADeathBySignal) {
  EXPECT_EQ(run_helper({"die", std::to_string(SIGKILL)}).describe(), "exit code 137");
  EXPECT_EQ(run_helper({"die", std::to_string(SIGTERM)}).describe(), "exit code 143");
}

TEST(SandboxTest, ASignalToTheOuterProcessArrivesOnce) {
  Helper helper({"count-interrupts"});
  ASSERT_EQ(helper.line(), "ready");
  helper.process.signal(SIGINT);
  EXPECT_EQ(helper.line(), "1");
  EXPECT_TRUE(helper.process.wait().ok());
}

TEST(SandboxTest, ASignalToTheOuterProcessGroupArrivesOnce) {  // like a terminal's Ctrl-C
  Helper helper({"count-interrupts"});
  ASSERT_EQ(helper.line(), "ready");
  ASSERT_EQ(::kill(-helper.process.pid(), SIGINT), 0);
  EXPECT_EQ(helper.line(), "1");
  EXPECT_TRUE(helper.process.wait().ok());
}

TEST(SandboxTest, KillingTheOuterProcessLeavesNoProcess) {
  Helper helper({"leave-orphans"});
  ASSERT_EQ(helper.line(), "ready");
  helper.process.signal(SIGKILL);
  EXPECT_EQ(helper.process.wait().signal, SIGKILL);
  // The pipe ends when the last process that holds it has ended.
  pollfd end{.fd = helper.output.read_end.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&end, 1, 2000), 1) << "a process still lives 2 s after its controller was killed";
  EXPECT_EQ(helper.line(), "");
}

std::string state_of(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  return stat.substr(stat.rfind(") ") + 2, 1);
}

// On a busy machine the outer process may be killed before the first process inside has begun. Here a tracer
// holds that process meanwhile.
TEST(SandboxTest, KillingTheOuterProcessBeforeTheFirstInsideBeganLeavesNoProcess) {
  Helper helper({"leave-orphans"}, [] { system_call("be traced", ::ptrace(PTRACE_TRACEME, 0, 0, 0)); });
  const pid_t outer = helper.process.pid();
  int status = 0;
  ASSERT_EQ(::waitpid(outer, &status, 0), outer);
  ASSERT_TRUE(WIFSTOPPED(status));
  system_call("trace children",
              ::ptrace(PTRACE_SETOPTIONS, outer, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE));
  system_call("continue", ::ptrace(PTRACE_CONT, outer, 0, 0));
  ASSERT_EQ(::waitpid(outer, &status, 0), outer);
  ASSERT_TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP) << status;
  unsigned long inner = 0;
  system_call("read the child's process ID", ::ptrace(PTRACE_GETEVENTMSG, outer, 0, &inner));
  system_call("continue", ::ptrace(PTRACE_CONT, outer, 0, 0));
  ASSERT_EQ(::waitpid(static_cast<pid_t>(inner), &status, __WALL), static_cast<pid_t>(inner));
  // The outer process has done its part once it keeps sleeping, waiting for the report from inside.
  for (int asleep = 0; asleep < 20; asleep = state_of(outer) == "S" ? asleep + 1 : 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  helper.process.signal(SIGKILL);
  EXPECT_EQ(helper.process.wait().signal, SIGKILL);
  system_call("let the child begin", ::ptrace(PTRACE_DETACH, static_cast<pid_t>(inner), 0, 0));
  pollfd end{.fd = helper.output.read_end.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&end, 1, 10000), 1);
  EXPECT_EQ(helper.line(), "") << "it ran on with nobody to end it";
}

TEST(SandboxTest, InitReapsOrphans) {
  Helper helper({"count-zombies"});
  EXPECT_EQ(helper.line(), "0");
  EXPECT_TRUE(helper.process.wait().ok());
}

TEST(SandboxTest, WorksForTheCaller) {
  Helper helper({"build-network"});
  EXPECT_EQ(helper.line(), "user 0 cubic");
  EXPECT_TRUE(helper.process.wait().ok());
}

TEST(SandboxTest, HasALoopbackDevice) {
  Helper helper({"use-loopback"});
  EXPECT_EQ(helper.line(), "connected");
  EXPECT_TRUE(helper.process.wait().ok());
}

TEST(SandboxTest, WorksForAnOrdinaryUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "the caller is an ordinary user: WorksForTheCaller has shown it";
  constexpr unsigned nobody = 65534;
  Pipe output = Pipe::create();
  // By descriptor: the user nobody may have no access to the build folder.
  const FileDescriptor program(system_call("open the helper", ::open(helper_path.c_str(), O_RDONLY)));
  ChildProcess process({.arguments = {"/proc/self/fd/" + std::to_string(program.get()), "build-network"},
                        .standard_output = output.write_end.get(),
                        .before_exec = [] {
                          system_call("drop groups", ::setgroups(0, nullptr));
                          system_call("become nobody's group", ::setgid(nobody));
                          system_call("become nobody", ::setuid(nobody));
                          // The change of user took away access to /proc/self/fd.
                          system_call("open /proc/self/fd again", ::prctl(PR_SET_DUMPABLE, 1));
                        }});
  output.write_end.reset();
  EXPECT_EQ(read_to_end(output.read_end, "read the helper's output"), "user 0 cubic\n");
  EXPECT_EQ(process.wait().describe(), "exit code 0");
}

// A /proc in which one setting forbids user namespaces.
class RefusalTest : public testing::Test {
 protected:
  RefusalTest() {
    std::string pattern = testing::TempDir() + "/proc-XXXXXX";
    folder_ = system_call("make a folder", ::mkdtemp(pattern.data()) == nullptr ? -1 : 0) == 0 ? pattern : "";
  }
  ~RefusalTest() override { std::filesystem::remove_all(folder_); }

  std::string path_of(const std::string& path) const { return folder_ + path; }

  void set(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = path_of(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::string explanation() const { return explain_refusal("clone: Operation not permitted", folder_); }

 private:
  std::string folder_;
};

TEST_F(RefusalTest, NamesTheSettingAndBothRemedies) {
  set("/sys/user/max_user_namespaces", "1000\n");
  EXPECT_THAT(explanation(), HasSubstr("No known setting"));
  set("/self/status", "Name:\tx\nSeccomp:\t2\n");
  EXPECT_THAT(explanation(), testing::AllOf(HasSubstr("seccomp=unconfined"), HasSubstr("--privileged")));
  set("/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  EXPECT_THAT(explanation(), testing::AllOf(HasSubstr("kernel.apparmor_restrict_unprivileged_userns=0"),
                                            HasSubstr("/etc/apparmor.d/thinpipe"), HasSubstr("sudo)")));
  set("/sys/kernel/unprivileged_userns_clone", "0\n");
  EXPECT_THAT(explanation(),
              testing::AllOf(HasSubstr("kernel.unprivileged_userns_clone=1"), HasSubstr("sudo)")));
  set("/sys/user/max_user_namespaces", "0\n");
  EXPECT_THAT(explanation(),
              testing::AllOf(HasSubstr("user.max_user_namespaces=10000"), HasSubstr("/etc/sysctl.d")));
  EXPECT_THAT(explanation(), HasSubstr("clone: Operation not permitted"));
}

TEST_F(RefusalTest, NamesAChrootWhoseRootIsNoMount) {
  set("/self/mountinfo", "25 1 8:1 / / rw - ext4 /dev/sda rw\n26 25 0:5 / /proc rw - proc proc rw\n");
  EXPECT_THAT(explanation(), HasSubstr("No known setting"));
  set("/self/mountinfo", "26 25 0:5 / /proc rw - proc proc rw\n");
  EXPECT_THAT(explanation(), testing::AllOf(HasSubstr("chroot"), HasSubstr("systemd-nspawn")));
}

TEST_F(RefusalTest, NamesAChrootToAMountByTheFirstProcess) {
  set("/self/mountinfo", "30 25 8:1 /jail / rw - ext4 /dev/sda rw\n");
  const auto link = [this](const std::string& path, const std::string& target) {
    set(path + ".folder/x", "");  // makes the folders
    std::filesystem::create_symlink(target, path_of(path));
  };
  link("/1/ns/mnt", "mnt:[1]");
  link("/self/ns/mnt", "mnt:[2]");
  link("/1/root", "/usr");
  link("/self/root", "/");
  EXPECT_THAT(explanation(), HasSubstr("No known setting"));  // another mount namespace has another root
  std::filesystem::remove(path_of("/self/ns/mnt"));
  link("/self/ns/mnt", "mnt:[1]");
  EXPECT_THAT(explanation(), HasSubstr("chroot"));
}

TEST(ChrootTest, IsNamedWhereItReallyForbids) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can chroot";
  // A plain folder in which the helper and its libraries are mounted, for this one process.
  const std::string script = R"(set -e
mount --make-rprivate /
jail=$(mktemp -d)
trap 'umount -R "$jail"/* 2>/dev/null; umount "$jail"; rmdir "$jail"' EXIT
mount -t tmpfs none "$jail"
jail2="$jail/plain"
mkdir -p "$jail2/usr" "$jail2/proc" "$jail2$1"
ln -s usr/lib usr/lib64 "$jail2"
mount --bind /usr "$jail2/usr"
mount --rbind /proc "$jail2/proc"
mount --bind "$1" "$jail2$1"
chroot "$jail2" "$2" exit 0 2>&1 || true)";
  const Output output =
      run_program({"unshare", "-m", "sh", "-c", script, "sh", built_program(""), helper_path});
  EXPECT_THAT(output.text, HasSubstr("This process is in a chroot"));
}

}  // namespace
}  // namespace thinpipe::netem
