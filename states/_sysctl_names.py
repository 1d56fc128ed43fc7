"""Names of kernel settings as resources: one per setting, with the settings that affect each other."""

from __future__ import annotations

import re

_SWAPPED = str.maketrans("./", "/.")
_INTERFACE = re.compile(r"(net\.ipv[46]\.(?:conf|neigh))\.[^.]+\.(.+)")

_TOGETHER = {
    "vm.dirty_bytes": "vm.dirty_ratio",
    "vm.dirty_background_bytes": "vm.dirty_background_ratio",
    "vm.overcommit_kbytes": "vm.overcommit_ratio",
    "vm.nr_hugepages_mempolicy": "vm.nr_hugepages",
    "net.nf_conntrack_max": "net.netfilter.nf_conntrack_max",
    "net.ipv4.ip_unprivileged_port_start": "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_allowed_congestion_control": "net.ipv4.tcp_congestion_control",
    "net.ipv4.ipfrag_low_thresh": "net.ipv4.ipfrag_high_thresh",
    "net.ipv6.ip6frag_low_thresh": "net.ipv6.ip6frag_high_thresh",
    "net.netfilter.nf_conntrack_frag6_low_thresh": "net.netfilter.nf_conntrack_frag6_high_thresh",
    "kernel.sched_rt_period_us": "kernel.sched_rt_runtime_us",
    "kernel.perf_event_max_sample_rate": "kernel.perf_cpu_time_max_percent",
    "kernel.nmi_watchdog": "kernel.watchdog",
    "kernel.soft_watchdog": "kernel.watchdog",
    "user.max_inotify_instances": "fs.inotify.max_user_instances",
    "user.max_inotify_watches": "fs.inotify.max_user_watches",
    "sunrpc.min_resvport": "sunrpc.max_resvport",
}
"""Groups of settings that the kernel sets together or checks against each other: each group counts as one."""

_FORWARDING = "sysctl:net.ipv4.conf"
_BROUGHT = {
    "net.bridge.": "br_netfilter",
    "net.netfilter.": "nf_conntrack",
    "net.nf_conntrack": "nf_conntrack",
    "net.ipv4.vs.": "ip_vs",
    "net.sctp.": "sctp",
    "sunrpc.": "sunrpc",
}
"""Settings that exist only after a kernel module is loaded."""


def canonical(name: str) -> str:
    """Return the name with dots; as for sysctl(8), the first dot or slash of a name is its separator."""
    first = next((mark for mark in name if mark in "./"), ".")
    return name.translate(_SWAPPED) if first == "/" else name


def path_of(name: str) -> str:
    """Return the file of a setting."""
    return f"/proc/sys/{canonical(name).translate(_SWAPPED)}"


def touched(name: str) -> tuple[list[str], list[str]]:
    """Return the resources that setting ``name`` reads and writes in the kernel.

    The values ``all`` and ``default`` of a network interface setting become those of interfaces. Turning IPv4
    forwarding on or off resets the other settings of all interfaces.
    """
    name = canonical(name)
    reads = [f"kmod:{module}" for start, module in _BROUGHT.items() if name.startswith(start)]
    interface = _INTERFACE.fullmatch(name)
    if name == "net.ipv4.ip_forward" or (interface and name == "net.ipv4.conf.all.forwarding"):
        return [], [f"sysctl:{name}", _FORWARDING]
    if not interface:
        return reads, [f"sysctl:{_TOGETHER.get(name, name)}"]
    family, leaf = interface.groups()
    leaf = {"stable_secret": "addr_gen_mode"}.get(leaf, leaf.removesuffix("_ms"))
    return [_FORWARDING] if family == "net.ipv4.conf" else [], [f"sysctl:{family}.*.{leaf}"]
