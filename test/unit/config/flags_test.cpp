// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/flags.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/config/flag_table.hpp"
#include "test/unit/config/problem_text.hpp"

namespace sluice::config {
namespace flags_test {

struct Parsed {
  Flags flags;
  std::string problems;
};

Parsed parse(const std::vector<std::string>& arguments) {
  Problems problems;
  Flags flags = parse_flags(arguments, problems);
  return {std::move(flags), test::problem_text(problems)};
}

class FlagsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(FlagsTest);
  CPPUNIT_TEST(no_arguments_mean_run);
  CPPUNIT_TEST(a_value_follows_or_is_attached);
  CPPUNIT_TEST(a_value_may_begin_with_a_dash);
  CPPUNIT_TEST(an_attached_value_may_be_empty_or_contain_equals);
  CPPUNIT_TEST(verbosity_has_all_short_forms);
  CPPUNIT_TEST(switches_need_no_value_and_take_one_only_attached);
  CPPUNIT_TEST(underscores_are_dashes_in_names_only);
  CPPUNIT_TEST(the_last_of_a_repeated_flag_wins);
  CPPUNIT_TEST(lists_split_and_append);
  CPPUNIT_TEST(plugin_folders_append_without_splitting);
  CPPUNIT_TEST(names_are_never_completed);
  CPPUNIT_TEST(errors_of_unknown_flags_contain_the_nearest_name);
  CPPUNIT_TEST(positional_arguments_are_errors);
  CPPUNIT_TEST(errors_of_missing_values_contain_the_value_name);
  CPPUNIT_TEST(errors_of_malformed_values_contain_the_allowed_values);
  CPPUNIT_TEST(retired_flags_are_accepted_with_one_warning);
  CPPUNIT_TEST(reports_all_errors_at_once);
  CPPUNIT_TEST(actions_follow_from_flags);
  CPPUNIT_TEST(check_and_cleanup_exclude_each_other);
  CPPUNIT_TEST(with_a_file_most_flags_are_ignored);
  CPPUNIT_TEST(flag_values_contain_every_flag);
  CPPUNIT_TEST(help_lists_every_flag_under_its_group);
  CPPUNIT_TEST_SUITE_END();

 public:
  void no_arguments_mean_run() {
    const Parsed p = parse({});
    CPPUNIT_ASSERT_EQUAL(std::string(), p.problems);
    CPPUNIT_ASSERT(p.flags.action() == Action::run);
    CPPUNIT_ASSERT(!p.flags.given("kubeconfig"));
    CPPUNIT_ASSERT_EQUAL(std::string(), p.flags.text("kubeconfig"));
    CPPUNIT_ASSERT(!p.flags.given("masquerade-all"));
  }

  void a_value_follows_or_is_attached() {
    for (const auto& words :
         {std::vector<std::string>{"--kubeconfig", "/k"}, std::vector<std::string>{"--kubeconfig=/k"}}) {
      const Parsed p = parse(words);
      CPPUNIT_ASSERT_EQUAL(std::string(), p.problems);
      CPPUNIT_ASSERT_EQUAL(std::string("/k"), p.flags.text("kubeconfig"));
    }
  }

  void a_value_may_begin_with_a_dash() {
    CPPUNIT_ASSERT_EQUAL(std::string("--check"), parse({"--kubeconfig", "--check"}).flags.text("kubeconfig"));
    CPPUNIT_ASSERT_EQUAL(std::string("-1s"),
                         parse({"--iptables-sync-period", "-1s"}).flags.text("iptables-sync-period"));
  }

  void an_attached_value_may_be_empty_or_contain_equals() {
    const Parsed p = parse({"--kubeconfig=", "--hostname-override=a=b"});
    CPPUNIT_ASSERT_EQUAL(std::string(), p.problems);
    CPPUNIT_ASSERT(p.flags.given("kubeconfig"));
    CPPUNIT_ASSERT_EQUAL(std::string(), p.flags.text("kubeconfig"));
    CPPUNIT_ASSERT_EQUAL(std::string("a=b"), p.flags.text("hostname-override"));
  }

  void verbosity_has_all_short_forms() {
    using Words = std::vector<std::string>;
    for (const Words& words : {Words{"-v=4"}, Words{"-v", "4"}, Words{"-v4"}, Words{"--v=4"}, Words{"--v", "4"}}) {
      const Parsed p = parse(words);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(words.front(), std::string(), p.problems);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(words.front(), std::string("4"), p.flags.text("v"));
    }
  }

  void switches_need_no_value_and_take_one_only_attached() {
    CPPUNIT_ASSERT(parse({"--masquerade-all"}).flags.on("masquerade-all"));
    CPPUNIT_ASSERT(parse({"--masquerade-all=T"}).flags.on("masquerade-all"));
    const Parsed off = parse({"--masquerade-all=false"});
    CPPUNIT_ASSERT(off.flags.given("masquerade-all"));
    CPPUNIT_ASSERT(!off.flags.on("masquerade-all"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("E unexpected argument 'false': there are only flags; a switch is turned off with --name=false\n"),
        parse({"--masquerade-all", "false"}).problems);
  }

  void underscores_are_dashes_in_names_only() {
    const Parsed p = parse({"--hostname_override=a_b", "--iptables_masquerade-bit", "3"});
    CPPUNIT_ASSERT_EQUAL(std::string(), p.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("a_b"), p.flags.text("hostname-override"));
    CPPUNIT_ASSERT_EQUAL(std::string("3"), p.flags.text("iptables-masquerade-bit"));
  }

  void the_last_of_a_repeated_flag_wins() {
    const Parsed p = parse({"-v=1", "--v=2", "-v", "3", "--masquerade-all", "--masquerade_all=false"});
    CPPUNIT_ASSERT_EQUAL(std::string(), p.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("3"), p.flags.text("v"));
    CPPUNIT_ASSERT(!p.flags.on("masquerade-all"));
  }

  void lists_split_and_append() {
    const Parsed p = parse({"--nodeport-addresses=10.0.0.0/8,fd00::/8", "--nodeport-addresses", "192.168.0.0/16"});
    CPPUNIT_ASSERT(
        (p.flags.texts("nodeport-addresses") == std::vector<std::string>{"10.0.0.0/8", "fd00::/8", "192.168.0.0/16"}));
  }

  void plugin_folders_append_without_splitting() {
    const Parsed p = parse({"--plugin-dir=/a,b", "--plugin-dir", "/c"});
    CPPUNIT_ASSERT((p.flags.texts("plugin-dir") == std::vector<std::string>{"/a,b", "/c"}));
  }

  void names_are_never_completed() {
    CPPUNIT_ASSERT_EQUAL(std::string("E --kubeconf: unknown flag; did you mean --kubeconfig?\n"),
                         parse({"--kubeconf=/k"}).problems);
  }

  void errors_of_unknown_flags_contain_the_nearest_name() {
    CPPUNIT_ASSERT_EQUAL(std::string("E --proxy_mod: unknown flag; did you mean --proxy-mode?\n"),
                         parse({"--proxy_mod", "iptables"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E --frobnicate: unknown flag; sluiced --help lists all\n"),
                         parse({"--frobnicate"}).problems);
    CPPUNIT_ASSERT_EQUAL(
        std::string("E -x: unknown flag; -h and -v are the only short ones, sluiced --help lists all\n"),
        parse({"-x"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E '---v' is not a flag; allowed: --name, --name=value or --name value\n"),
                         parse({"---v"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E '--=4' is not a flag; allowed: --name, --name=value or --name value\n"),
                         parse({"--=4"}).problems);
  }

  void positional_arguments_are_errors() {
    const std::string error =
        "E unexpected argument 'run': there are only flags; a switch is turned off with --name=false\n";
    CPPUNIT_ASSERT_EQUAL(error, parse({"run"}).problems);
    CPPUNIT_ASSERT_EQUAL(error, parse({"--", "run"}).problems);
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "E unexpected argument '--check': there are only flags; a switch is turned off with --name=false\n"),
        parse({"--", "--check"}).problems);
    CPPUNIT_ASSERT(!parse({"-"}).problems.empty());
    CPPUNIT_ASSERT(!parse({""}).problems.empty());
  }

  void errors_of_missing_values_contain_the_value_name() {
    CPPUNIT_ASSERT_EQUAL(std::string("E --kubeconfig: needs a value: FILE\n"), parse({"--kubeconfig"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E -v: needs a value: LEVEL\n"), parse({"-v"}).problems);
  }

  void errors_of_malformed_values_contain_the_allowed_values() {
    CPPUNIT_ASSERT_EQUAL(std::string("E --masquerade-all: 'maybe' is not a boolean; allowed: true or false\n"),
                         parse({"--masquerade-all=maybe"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E -v: 'loud' is not a number; allowed: a whole number, such as 14\n"),
                         parse({"-vloud"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E --kube-api-qps: 'many' is not a number; allowed: a number, such as 5 or 0.5\n"),
                         parse({"--kube-api-qps=many"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string(), parse({"--kube-api-qps=-0.5", "--replay-speed", "0"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E --iptables-sync-period: '30' is not a duration; allowed: numbers with a unit "
                                     "(ns, us, ms, s, m, h), such as 30s, 1m30s or 500ms\n"),
                         parse({"--iptables-sync-period=30"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E --version: 'new' says nothing about the version; allowed: true, false, raw or "
                                     "a version such as v1.36.0\n"),
                         parse({"--version=new"}).problems);
    CPPUNIT_ASSERT(!parse({"-h=perhaps"}).problems.empty());
  }

  void retired_flags_are_accepted_with_one_warning() {
    const std::string reason =
        ": retired and without effect: log lines go to standard error, or as --log-text-split-stream says\n";
    CPPUNIT_ASSERT_EQUAL("W --logtostderr" + reason, parse({"--logtostderr=true"}).problems);
    // The next word is the value of the flag, even if it resembles a flag; a switch has no value.
    const Parsed p = parse({"--log_dir", "--tmp", "--alsologtostderr", "--v=4", "--log-file=/f"});
    CPPUNIT_ASSERT_EQUAL("W --log_dir, --alsologtostderr, --log-file" + reason, p.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("4"), p.flags.text("v"));
  }

  void reports_all_errors_at_once() {
    const Parsed p = parse({"--nonsense-at-all", "-v", "x", "word", "--healthz-port=x", "--proxy-mode=iptables"});
    CPPUNIT_ASSERT_EQUAL(std::string("E --nonsense-at-all: unknown flag; sluiced --help lists all\n"
                                     "E -v: 'x' is not a number; allowed: a whole number, such as 14\n"
                                     "E unexpected argument 'word': there are only flags; a switch is turned off with "
                                     "--name=false\n"
                                     "E --healthz-port: 'x' is not a number; allowed: a whole number, such as 14\n"),
                         p.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("iptables"), p.flags.text("proxy-mode"));
  }

  void actions_follow_from_flags() {
    CPPUNIT_ASSERT(parse({"--check"}).flags.action() == Action::check);
    CPPUNIT_ASSERT(parse({"--check=false"}).flags.action() == Action::run);
    CPPUNIT_ASSERT(parse({"--cleanup"}).flags.action() == Action::cleanup);
    CPPUNIT_ASSERT(parse({"--init-only"}).flags.action() == Action::init_only);
    CPPUNIT_ASSERT(parse({"--init-only", "--cleanup"}).flags.action() == Action::cleanup);
    CPPUNIT_ASSERT(parse({"--hold-descriptors"}).flags.action() == Action::hold_descriptors);
    CPPUNIT_ASSERT(parse({"--hold-descriptors", "--init-only"}).flags.action() == Action::init_only);
    CPPUNIT_ASSERT(parse({"--write-config-to=/f", "--cleanup"}).flags.action() == Action::write_config);
    CPPUNIT_ASSERT(parse({"--write-config-to="}).flags.action() == Action::run);
    CPPUNIT_ASSERT(parse({"--version"}).flags.action() == Action::version);
    CPPUNIT_ASSERT(parse({"--version=true"}).flags.action() == Action::version);
    CPPUNIT_ASSERT(parse({"--version=false"}).flags.action() == Action::run);
    CPPUNIT_ASSERT(parse({"--version=raw"}).flags.action() == Action::version_raw);
    for (const std::string version : {"v1.36.0", "v1.36.12-gke.100", "v1.36.0+build.7", "v1.36.0-rc.1+x"}) {
      const Parsed reported = parse({"--version=" + version});
      CPPUNIT_ASSERT_EQUAL(std::string(), reported.problems);
      CPPUNIT_ASSERT(reported.flags.action() == Action::run);
      CPPUNIT_ASSERT_EQUAL(version, reported.flags.text("version"));
    }
    for (const char* wrong : {"v", "v1.36", "v1.36.", "v1..0", "v1.36.0.1", "1.36.0", "v1.36.0-\"", "vx.y.z"}) {
      CPPUNIT_ASSERT_MESSAGE(wrong, !parse({std::string("--version=") + wrong}).problems.empty());
    }
    CPPUNIT_ASSERT(parse({"help"}).flags.action() == Action::help);
    CPPUNIT_ASSERT(!parse({"help", "--check"}).problems.empty());
    CPPUNIT_ASSERT(parse({"--help"}).flags.action() == Action::help);
    CPPUNIT_ASSERT(parse({"-h", "--version", "--check"}).flags.action() == Action::help);
    CPPUNIT_ASSERT(parse({"--version", "--check"}).flags.action() == Action::version);
  }

  void check_and_cleanup_exclude_each_other() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("E --check: excludes --cleanup: the one changes nothing, the other removes everything\n"),
        parse({"--cleanup", "--check"}).problems);
  }

  void with_a_file_most_flags_are_ignored() {
    const std::vector<std::string> words{
        "--cluster-cidr=10.0.0.0/8", "--bind-address=::", "--v=2",          "--master=http://m",
        "--hostname-override=n",     "--state-dir=/s",    "--plugin-dir=/p"};
    CPPUNIT_ASSERT(parse(words).flags.ignored_with_file().empty());
    auto with_file = words;
    with_file.push_back("--config=/c");
    CPPUNIT_ASSERT(
        (parse(with_file).flags.ignored_with_file() == std::vector<std::string>{"--bind-address", "--cluster-cidr"}));
  }

  void flag_values_contain_every_flag() {
    const auto texts = flag_values(parse({"--vmodule=a=1,b=2", "--v=1", "--masquerade-all"}).flags);
    CPPUNIT_ASSERT_EQUAL(flag_table().size(), texts.size());
    CPPUNIT_ASSERT_EQUAL(std::string("a=1,b=2"), texts.at("vmodule"));
    CPPUNIT_ASSERT_EQUAL(std::string("1"), texts.at("v"));
    CPPUNIT_ASSERT_EQUAL(std::string("true"), texts.at("masquerade-all"));
    CPPUNIT_ASSERT_EQUAL(std::string("15m0s"), texts.at("config-sync-period"));
  }

  void help_lists_every_flag_under_its_group() {
    const std::string help = help_text("sluiced", "/plugins", "/state");
    for (const Option* flag : flag_table()) {
      CPPUNIT_ASSERT_MESSAGE(std::string(flag->flag), help.find("--" + std::string(flag->flag)) != std::string::npos);
      CPPUNIT_ASSERT(help.find(group_title(flag->group) + ":\n") != std::string::npos);
    }
    CPPUNIT_ASSERT(help.find("/plugins") != std::string::npos);
    CPPUNIT_ASSERT(help.find("/state") != std::string::npos);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(FlagsTest);

}  // namespace flags_test
}  // namespace sluice::config
