"""The rows of borrowed states are those of salt-call, with programs that stand for those of the system."""

from __future__ import annotations

import textwrap
from functools import partial
from pathlib import Path

import pytest
from installed_salt import Site, installed_salt

pytestmark = pytest.mark.salt

PROGRAMS = {
    "iptables": 'case "$*" in *--version*) echo "iptables v1.8.9 (legacy)";; *-C*|*--check*) exit 1;; esac',
    "iptables-save": "exit 0",
    "nft": 'case "$*" in *--version*) echo "nftables v1.0.6 (Lester Gooch #5)";; esac',
    "lvm": 'echo "LVM version: 2.03.16"',
    "pvdisplay": "exit 5",
    "vgdisplay": "exit 5",
    "lvdisplay": "exit 5",
    "getfacl": "for last; do :; done; echo \"# file: $last\"; echo '# owner: root'; echo '# group: root'; echo 'user::rwx'; echo 'user:bin:r--'",
    "setfacl": "exit 0",
    "at": "exit 0",
    "atq": "exit 0",
    "atrm": "exit 0",
    "rabbitmqctl": 'case "$1" in list_users) printf "user\\ttags\\nguest\\t[administrator]\\n";; esac',
    "rabbitmq-plugins": "echo '[E*] rabbitmq_management'",
    "apachectl": "echo 'Server version: Apache/2.4.57 (Debian)'",
    "apache2ctl": "echo 'Server version: Apache/2.4.57 (Debian)'",
    "a2enmod": "exit 0",
    "a2dismod": "exit 0",
    "a2ensite": "exit 0",
    "a2dissite": "exit 0",
    "a2enconf": "exit 0",
    "a2disconf": "exit 0",
    "ipset": "exit 0",
    "mdadm": "exit 0",
    "setquota": "exit 0",
    "quotaon": "exit 1",
    "logrotate": "exit 0",
}

ANYWHERE = """
logrotate_set:
  logrotate.set: [{name: logrotate-rotate}, {key: rotate}, {value: 2}, {conf_file: HERE/logrotate.conf}]
logrotate_same:
  logrotate.set: [{name: logrotate-weekly}, {key: weekly}, {value: true}, {conf_file: HERE/logrotate.conf}]
logrotate_gone:
  logrotate.set: [{name: x}, {key: rotate}, {value: 2}, {conf_file: HERE/nowhere.conf}]
loop_ok:
  loop.until_no_eval: [{name: test.ping}, {expected: true}]
loop_bad:
  loop.until_no_eval: [{name: test.echo}, {expected: b}, {args: [a]}, {period: 0.1}, {timeout: 0.3}]
loop_nothing:
  loop.until_no_eval: [{name: test.nothing}, {expected: b}]
loop_old:
  loop.until: [{name: test.echo}, {condition: m_ret == 'x'}, {m_args: [x]}, {period: 1}, {timeout: 2}]
process_absent:
  process.absent: [{name: surely_nothing_like_this_runs}]
status_loadavg:
  status.loadavg: [{name: 1-minute}, {maximum: 100000}]
status_process:
  status.process: [{name: surely_nothing_like_this_runs}]
disk_missing:
  disk.status: [{name: /surely/no/mount}, {maximum: 1%}]
tls_missing:
  tls.valid_certificate: [{name: HERE/cert.pem}, {days: 30}]
saltutil_sync:
  saltutil.sync_modules: [{refresh: false}]
saltutil_grains:
  saltutil.sync_grains: [{refresh: false}]
syslog_ng:
  syslog_ng.config: [{name: s}, {config: {}}]
at_present:
  at.present: [{name: 'touch HERE/at'}, {timespec: '9:09 11/09/30'}, {tag: x}]
at_absent:
  at.absent: [{name: x}]
acl_present:
  acl.present: [{name: HERE}, {acl_type: user}, {acl_name: daemon}, {perms: rwx}]
acl_missing:
  acl.present: [{name: HERE/nowhere}, {acl_type: user}, {acl_name: root}, {perms: rwx}]
acl_absent:
  acl.absent: [{name: HERE}, {acl_type: user}, {acl_name: daemon}]
iptables_append:
  iptables.append: [{table: filter}, {chain: INPUT}, {jump: ACCEPT}, {dport: 80}, {proto: tcp}]
iptables_insert:
  iptables.insert: [{position: 1}, {table: filter}, {chain: INPUT}, {jump: DROP}]
iptables_chain:
  iptables.chain_present: [{name: mychain}]
iptables_policy:
  iptables.set_policy: [{chain: INPUT}, {policy: ACCEPT}]
nft_chain:
  nftables.chain_present: [{name: input}, {family: ipv4}]
nft_append:
  nftables.append: [{family: ipv4}, {chain: input}, {jump: accept}, {dport: 80}]
rabbit_user:
  rabbitmq_user.present: [{name: bob}, {password: secret}]
rabbit_user_absent:
  rabbitmq_user.absent: [{name: nobody_at_all}]
rabbit_vhost:
  rabbitmq_vhost.present: [{name: /v}]
rabbit_policy:
  rabbitmq_policy.absent: [{name: p}]
rabbit_plugin:
  rabbitmq_plugin.enabled: [{name: rabbitmq_management}]
apache_module:
  apache_module.enabled: [{name: surely_no_module}]
apache_module_off:
  apache_module.disabled: [{name: surely_no_module}]
apache_site:
  apache_site.disabled: [{name: surely_no_site}]
apache_conf:
  apache_conf.enabled: [{name: surely_no_conf}]
apache_file:
  apache.configfile: [{name: HERE/apache.conf}, {config: [{VirtualHost: {this: '*:80', ServerName: a.com}}]}]
ipset_set:
  ipset.set_present: [{name: foo}, {set_type: 'hash:ip'}]
required:
  logrotate.set: [{name: x}, {key: rotate}, {value: 3}, {conf_file: HERE/logrotate.conf}, {require: [loop: loop_bad]}]
watched:
  loop.until_no_eval: [{name: test.ping}, {expected: true}, {watch: [logrotate: logrotate_set]}]
changed:
  process.absent: [{name: surely_nothing_like_this_runs}, {onchanges: [logrotate: logrotate_same]}]
skipped:
  sysfs.present: [{name: kernel/x}, {value: 1}, {onlyif: "false"}]
sysfs_missing:
  sysfs.present: [{name: kernel/nothing/here}, {value: 0}, {config: HERE/sysfs.conf}]
retried:
  loop.until_no_eval: [{name: test.echo}, {expected: b}, {args: [a]}, {period: 0.1}, {timeout: 0.2}, {retry: {attempts: 2, interval: 1}}]
"""

IN_A_DRY_RUN = """
sysfs_dry:
  sysfs.present: [{name: kernel/mm/transparent_hugepage/use_zero_page}, {value: 7}, {config: HERE/sysfs.conf}]
lvm_pv:
  lvm.pv_present: [{name: /dev/surely_nothing}]
lvm_pv_absent:
  lvm.pv_absent: [{name: /dev/surely_nothing}]
lvm_vg:
  lvm.vg_present: [{name: vg0}, {devices: /dev/surely_nothing}]
lvm_vg_absent:
  lvm.vg_absent: [{name: vg0}]
lvm_lv:
  lvm.lv_present: [{name: lv0}, {vgname: vg0}, {size: 1G}]
lvm_lv_absent:
  lvm.lv_absent: [{name: lv0}, {vgname: vg0}]
quota:
  quota.mode: [{name: /}, {mode: 'on'}, {quotatype: user}]
blockdev:
  blockdev.tuned: [{name: /dev/surely_nothing}]
schedule:
  schedule.absent: [{name: nojob}]
salt_proxy:
  salt_proxy.configure_proxy: [{name: p}]
gpg:
  gpg.absent: [{name: ABCDEF0123456789}]
pyenv:
  pyenv.absent: [{name: 3.9.1}]
firewall:
  firewall.check: [{name: 127.0.0.1}, {port: 1}]
network_interface:
  network.managed: [{name: eth7}, {type: eth}, {proto: dhcp}]
network_settings:
  network.system: [{enabled: true}, {hostname: x}]
network_routes:
  network.routes: [{name: eth7}, {routes: [{name: a, ipaddr: 10.0.0.0, netmask: 255.0.0.0, gateway: 10.0.0.1}]}]
schedule_added:
  schedule.present: [{name: job}, {function: test.ping}, {seconds: 60}, {offline: true}]
schedule_disabled:
  schedule.disabled: [{name: job}]
gpg_added:
  gpg.present: [{name: '0123456789ABCDEF'}]
note:
  highstate_doc.note: [{contents: hello}]
cloud:
  cloud.absent: [{name: vm1}]
syslog_ng_started:
  syslog_ng.started: []
loop_compared:
  loop.until_no_eval: [{name: test.echo}, {expected: a}, {compare_operator: ne}, {args: [b]}]
logrotate_before:
  logrotate.set: [{name: b}, {key: rotate}, {value: 2}, {conf_file: HERE/logrotate.conf}, {prereq: [{cmd: command}]}]
command:
  cmd.run: [{name: echo hi}]
sysfs_names:
  sysfs.present: [{names: [kernel/a, kernel/b]}, {value: 1}, {config: HERE/sysfs.conf}]
"""

REFUSED = """
uptime:
  uptime.monitored: [{name: 'http://x'}]
firewalld:
  firewalld.present: [{name: public}]
makeconf:
  makeconf.absent: [{name: foo}]
netntp:
  netntp.managed: [{servers: [a]}]
zfs:
  zfs.filesystem_absent: [{name: pool/a}]
etcd:
  etcd.set: [{name: /a}, {value: b}, {profile: none}]
reg:
  reg.present: [{name: 'HKLM\\x'}]
idem:
  idem.state: [{name: x}]
ansible:
  ansible.call: [{name: ping}]
selinux:
  selinux.mode: [{name: permissive}]
raid:
  raid.absent: [{name: /dev/md9}]
ntp:
  ntp.managed: [{servers: [a, b]}]
chocolatey:
  chocolatey.installed: [{name: x}]
xattr:
  xattr.exists: [{name: /tmp}, {attributes: {a: b}}]
proxy:
  proxy.managed: [{name: p}, {port: 3128}]
no_function:
  logrotate.nothing: []
no_module:
  surely_no_module.present: []
"""


@pytest.fixture(scope="module")
def salt(checkout):
    return installed_salt(checkout)


@pytest.fixture
def site(tmp_path, salt):
    """Make two sites of one tree, one for each program, which do not see what the other changed."""
    made = []
    for program in ("salt", "ours"):
        site = Site(tmp_path / program / "site", salt)
        for name, text in PROGRAMS.items():
            site.program(name, text)
        made.append(site)
    return made


def rows_of(sites, sls, salts_words=(), our_words=()):
    found = []
    for site, ask in zip(sites, (partial(Site.salts), partial(Site.ours)), strict=True):
        here = str(site.root)
        Path(here, "logrotate.conf").write_text("weekly\nrotate 4\n")
        Path(here, "salt", "d.sls").write_text(textwrap.dedent(sls).replace("HERE", here))
        rows = ask(site, *(salts_words if site is sites[0] else our_words))
        found.append({tag.replace(here, "HERE"): _without(here, row) for tag, row in rows.items()})
    return found


def _without(here, value):
    if isinstance(value, dict):
        return {key: _without(here, item) for key, item in value.items()}
    return value.replace(here, "HERE") if isinstance(value, str) else value


@pytest.mark.timeout(400)
def test_the_rows_of_a_dry_run_are_salts(site):
    salts, ours = rows_of(site, ANYWHERE + IN_A_DRY_RUN + REFUSED, ["test=True"], ["--test"])
    assert ours == salts


@pytest.mark.timeout(400)
def test_the_rows_of_a_run_are_salts(site):
    salts, ours = rows_of(site, ANYWHERE + REFUSED)
    assert ours == salts
    texts = [Path(each.root, "logrotate.conf").read_text() for each in site]
    assert texts[0] == texts[1]
    assert "rotate 2" in texts[0]
    assert sum(row["result"] is True for row in ours.values()) > len(ours) / 4  # not all are refused


@pytest.mark.timeout(400)
def test_aggregated_rules_are_salts(site):
    rules = "\n".join(
        f"rule{port}:\n  iptables.append: [{{chain: INPUT}}, {{jump: ACCEPT}}, {{dport: {port}}}, {{proto: tcp}}]"
        for port in (80, 443, 8080)
    )
    for each in site:
        config = each.root / "conf" / "minion"
        config.write_text(config.read_text().replace('{"id"', '{"state_aggregate": true, "id"'))
    salts, ours = rows_of(site, rules)
    assert ours == salts
