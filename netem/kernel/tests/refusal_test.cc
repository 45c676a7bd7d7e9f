// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/refusal.hh"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/support/child_process.hh"
#include "common/support/exception.hh"
#include "common/support/tests/paths.hh"

namespace thinpipe::netem {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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

  std::string explanation(std::string_view failure = "clone: Operation not permitted") const {
    return explain_refusal(failure, folder_);
  }

 private:
  std::string folder_;
};

TEST_F(RefusalTest, NamesTheSettingAndBothRemedies) {
  set("/sys/user/max_user_namespaces", "1000\n");
  EXPECT_THAT(explanation(), HasSubstr("No known setting"));
  set("/self/status", "Name:\tx\nSeccomp:\t2\n");
  EXPECT_THAT(explanation(), AllOf(HasSubstr("seccomp=unconfined"), HasSubstr("--privileged")));
  set("/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  EXPECT_THAT(explanation(), AllOf(HasSubstr("kernel.apparmor_restrict_unprivileged_userns=0"),
                                   HasSubstr("/etc/apparmor.d/thinpipe"), HasSubstr("sudo)")));
  set("/sys/kernel/unprivileged_userns_clone", "0\n");
  EXPECT_THAT(explanation(), AllOf(HasSubstr("kernel.unprivileged_userns_clone=1"), HasSubstr("sudo)")));
  set("/sys/user/max_user_namespaces", "0\n");
  EXPECT_THAT(explanation(), AllOf(HasSubstr("user.max_user_namespaces=10000"), HasSubstr("/etc/sysctl.d")));
  EXPECT_THAT(explanation(), HasSubstr("clone: Operation not permitted"));
}

// Lines of mountinfo, as in a container of Podman or Docker.
constexpr const char* covered_proc =
    "25 1 0:30 / / rw - overlay overlay rw\n"
    "26 25 0:5 / /proc rw - proc proc rw\n"
    "27 26 0:31 / /proc/acpi ro - tmpfs tmpfs ro\n"
    "28 26 0:5 /sys /proc/sys ro - proc proc rw\n";
constexpr std::string_view refused_proc = "mount a new /proc: Operation not permitted";

TEST_F(RefusalTest, NamesTheCoveredPartsOfProc) {
  set("/self/mountinfo", covered_proc);
  set("/self/status", "Name:\tx\nSeccomp:\t2\n");
  set("/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  // A filter that let the namespaces pass is not to blame, nor is a setting of the machine.
  EXPECT_THAT(explanation(refused_proc),
              AllOf(HasSubstr("(/proc/acpi, /proc/sys)"),
                    HasSubstr("with \"--security-opt systempaths=unconfined\" (Podman, Docker)"),
                    HasSubstr("with procMount: Unmasked and hostUsers: false (Kubernetes)")));
  // These folders of the kernel are always empty.
  set("/self/mountinfo",
      "25 1 0:30 / / rw - overlay overlay rw\n27 26 0:31 / /proc/sys/fs/binfmt_misc rw - autofs a rw\n"
      "28 26 0:32 / /proc/fs/nfsd rw - nfsd nfsd rw\n29 26 0:33 / /process rw - tmpfs t rw\n");
  EXPECT_THAT(explanation(refused_proc), Not(HasSubstr("covered")));
}

TEST_F(RefusalTest, NamesAllFlagsOfAContainerAtOnce) {
  set("/self/mountinfo", covered_proc);
  set("/self/status", "Name:\tx\nSeccomp:\t2\n");
  set("/self/attr/apparmor/current", "docker-default (enforce)\n");
  EXPECT_THAT(explanation(),
              AllOf(HasSubstr("\"--security-opt systempaths=unconfined --security-opt apparmor=unconfined "
                              "--security-opt seccomp=unconfined\""),
                    HasSubstr("profile docker-default"), HasSubstr("seccompProfile: Unconfined"),
                    HasSubstr("appArmorProfile: Unconfined"), HasSubstr("docs/how-to/containers.md")));
  EXPECT_THAT(explanation(refused_proc), AllOf(HasSubstr("apparmor=unconfined"), Not(HasSubstr("seccomp"))));
}

TEST_F(RefusalTest, NamesAFilterThatMayForbidTheNewProc) {
  set("/self/status", "Name:\tx\nSeccomp:\t2\n");
  EXPECT_THAT(explanation(refused_proc), HasSubstr("seccomp=unconfined"));
}

TEST_F(RefusalTest, NamesTheSecurityModuleThatConfines) {
  set("/self/attr/apparmor/current", "unconfined\n");
  set("/self/attr/current", "unconfined_u:unconfined_r:unconfined_t:s0\n");
  EXPECT_THAT(explanation(refused_proc), HasSubstr("No known setting"));
  set("/self/attr/apparmor/current", "complaining (complain)\n");
  EXPECT_THAT(explanation(refused_proc), HasSubstr("No known setting"));
  set("/self/attr/current", std::string("system_u:system_r:container_t:s0:c1,c2\0", 40));
  EXPECT_THAT(explanation(refused_proc),
              AllOf(HasSubstr("--security-opt label=disable"), HasSubstr("container_t:s0:c1,c2)")));
}

TEST_F(RefusalTest, NamesEveryLimitOfZero) {
  set("/sys/user/max_user_namespaces", "1000\n");
  set("/sys/user/max_net_namespaces", "0\n");
  set("/sys/user/max_ipc_namespaces", "0\n");
  EXPECT_THAT(explanation("clone: No space left on device"),
              AllOf(HasSubstr("user.max_net_namespaces and user.max_ipc_namespaces is 0"),
                    HasSubstr("sysctl -w user.max_net_namespaces=10000 user.max_ipc_namespaces=10000")));
}

TEST_F(RefusalTest, SaysThatALimitElsewhereIsReached) {
  set("/sys/user/max_user_namespaces", "1000\n");
  set("/self/status", "Name:\tx\nSeccomp:\t2\n");
  EXPECT_THAT(explanation("clone: No space left on device"),
              AllOf(HasSubstr("limit on the number of namespaces is reached"), Not(HasSubstr("seccomp"))));
}

TEST_F(RefusalTest, NamesAChrootWhoseRootIsNoMount) {
  set("/self/mountinfo", "25 1 8:1 / / rw - ext4 /dev/sda rw\n26 25 0:5 / /proc rw - proc proc rw\n");
  EXPECT_THAT(explanation(), HasSubstr("No known setting"));
  set("/self/mountinfo", "26 25 0:5 / /proc rw - proc proc rw\n");
  EXPECT_THAT(explanation(), AllOf(HasSubstr("chroot"), HasSubstr("systemd-nspawn")));
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
  const Output output = run_program(
      {"unshare", "-m", "sh", "-c", script, "sh", built_program(""), built_program("netem_sandbox_helper")});
  EXPECT_THAT(output.text, HasSubstr("This process is in a chroot"));
}

}  // namespace
}  // namespace thinpipe::netem
