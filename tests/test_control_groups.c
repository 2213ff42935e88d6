/* system/control_groups: quotas of processor time, in a made-up /proc and /sys. Memory limits: test_budget.c. */
#include <limits.h>
#include <string.h>

#include "core/memory.h"
#include "system/control_groups.h"
#include "tests/suites.h"
#include "tests/temp.h"

static char *root;

static void setup(void)
{
    root = temp_folder();
}

static void teardown(void)
{
    temp_remove(root);
}

static void put(const char *path, const char *text)
{
    temp_put(root, path, text);
}

static void assert_processors(int n)
{
    ck_assert_int_eq(control_groups_processors(root), n);
}

START_TEST(no_groups)
{
    assert_processors(INT_MAX);
    put("proc/self/cgroup", "");
    assert_processors(INT_MAX);
    put("proc/self/cgroup", "nonsense\n1:cpu\n0::\n\n:\n::\n");
    put("sys/fs/cgroup/cpu.max", "100000 100000\n");
    assert_processors(INT_MAX);
}
END_TEST

START_TEST(second_version)
{
    put("proc/self/cgroup", "0::/jobs/mine\n");
    assert_processors(INT_MAX);
    put("sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n");
    assert_processors(INT_MAX);
    put("sys/fs/cgroup/jobs/cpu.max", "400000 100000\n"); /* that of a group above counts */
    assert_processors(4);
    put("sys/fs/cgroup/jobs/mine/cpu.max", "150000 100000\n"); /* as does the smaller one; a part of a processor is one */
    assert_processors(2);
    put("sys/fs/cgroup/jobs/mine/cpu.max", "200000 100000\n");
    assert_processors(2);
    put("sys/fs/cgroup/jobs/mine/cpu.max", "1000 100000\n");
    assert_processors(1);
    put("sys/fs/cgroup/jobs/mine/cpu.max", "9000000000000000 1\n");
    assert_processors(4);
    static const char *const damaged[] = {"", "max\n", "100000\n", "100000 0\n", "100000 \n", "x 100000\n"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        put("sys/fs/cgroup/jobs/mine/cpu.max", damaged[i]);
        assert_processors(4);
    }
    put("proc/self/cgroup", "0::/\n"); /* a container often sees itself as the whole */
    put("sys/fs/cgroup/cpu.max", "300000 100000\n");
    assert_processors(3);
}
END_TEST

START_TEST(first_version)
{
    put("proc/self/cgroup", "9:name=systemd:/\n5:cpuset:/not/this\n4:cpu,cpuacct:/docker/abc\n0::/\n");
    put("sys/fs/cgroup/cpuset/not/this/cpu.cfs_quota_us", "1\n");
    put("sys/fs/cgroup/cpuset/not/this/cpu.cfs_period_us", "1\n");
    put("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
    assert_processors(INT_MAX);
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
    assert_processors(INT_MAX);
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_processors(3);
    put("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "50000\n");
    assert_processors(1);
    put("proc/self/cgroup", "4:cpuacct,cpu:/docker/abc\n");
    assert_processors(1);
    put("proc/self/cgroup", "4:cpuacct,cpux:/docker/abc\n4:xcpu:/docker/abc\n");
    assert_processors(INT_MAX);
}
END_TEST

Suite *suite_control_groups(void)
{
    Suite *suite = suite_create("control_groups");
    TCase *tcase = tcase_create("processors");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, no_groups);
    tcase_add_test(tcase, second_version);
    tcase_add_test(tcase, first_version);
    suite_add_tcase(suite, tcase);
    return suite;
}
