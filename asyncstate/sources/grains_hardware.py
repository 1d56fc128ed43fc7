"""Grains of the hardware and the network. No name server is ever queried."""

from __future__ import annotations

import os
import re
import shlex
import socket
from typing import TYPE_CHECKING, Any

from asyncstate.data.kernel_network import addresses as kernel_addresses
from asyncstate.data.kernel_network import ipv4_routes, ipv6_routes
from asyncstate.pattern import lazy_pattern
from asyncstate.sources.machine import list_names, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.data.kernel_network import Address, Route


_UP = 1  # RTF_UP
_ANY_IPV4 = "0.0.0.0"  # noqa: S104 - the destination of a default route, not an address to listen on


def name_grains(nodename: str, root: str = "/") -> dict[str, Any]:
    """Return localhost, fqdn, host, domain and machine_id. The domain comes from the node name or ``etc/hosts``."""
    fqdn = nodename
    if "." not in nodename:
        fqdn = next((names[0] for _, names in _hosts(root) if nodename in names), nodename) or "localhost.localdomain"
    host, _, domain = fqdn.partition(".")
    machine_id = read_text(root, "etc/machine-id").strip() or read_text(root, "var/lib/dbus/machine-id").strip()
    grains = {"localhost": nodename, "fqdn": fqdn, "host": host, "domain": domain, "fqdns": []}
    return grains | ({"machine_id": machine_id} if machine_id else {})


def _hosts(root: str) -> list[tuple[str, list[str]]]:
    lines = (line.partition("#")[0].split() for line in read_text(root, "etc/hosts").splitlines())
    return [(words[0], words[1:]) for words in lines if len(words) > 1]


def address_grains(fqdn: str, root: str = "/") -> dict[str, Any]:
    """Return the interface, address, gateway and resolver grains."""
    addresses = kernel_addresses()
    names = list_names(root, "sys/class/net") or sorted({address.interface for address in addresses})
    inet = [address for address in addresses if address.family == socket.AF_INET]
    inet6 = [address for address in addresses if address.family == socket.AF_INET6]

    def by_interface(found: list[Address]) -> dict[str, list[str]]:
        return {name: [address.text for address in found if address.interface == name] for name in names}

    return {
        "ip_interfaces": by_interface(inet + inet6),
        "ip4_interfaces": by_interface(inet),
        "ip6_interfaces": by_interface(inet6),
        "ipv4": _sorted(inet),
        "ipv6": _sorted(inet6),
        "fqdn_ip4": _in_hosts(socket.AF_INET, fqdn, root),
        "fqdn_ip6": _in_hosts(socket.AF_INET6, fqdn, root),
        "hwaddr_interfaces": _hardware_addresses(names, root),
        "dns": _resolver(root),
        **_gateways(root),
    }


def _hardware_addresses(names: list[str], root: str) -> dict[str, str]:
    found = {name: read_text(root, f"sys/class/net/{name}/address").strip() for name in names}
    return {name: address for name, address in found.items() if address}


def _sorted(addresses: list[Address]) -> list[str]:
    by_number = {socket.inet_pton(address.family, address.text): address.text for address in addresses}
    return [by_number[number] for number in sorted(by_number)]


def _in_hosts(family: int, name: str, root: str) -> list[str]:
    return [text for text, names in _hosts(root) if name in names and _is_of_family(family, text)]


def _is_of_family(family: int, text: str) -> bool:
    try:
        socket.inet_pton(family, text)
    except OSError:
        return False
    return True


def _resolver(root: str) -> dict[str, Any]:
    """Return the ``dns`` grain, read from resolv.conf."""
    words: dict[str, list[str]] = {"nameserver": [], "search": [], "domain": [], "options": [], "sortlist": []}
    for line in read_text(root, "etc/resolv.conf").splitlines():
        key, _, value = line.partition("#")[0].partition(";")[0].strip().partition(" ")
        if key == "nameserver":
            words[key] += value.split()[:1]
        elif key in words:
            words[key] = value.split()
    servers = words["nameserver"]
    return {
        "nameservers": servers,
        "ip4_nameservers": [server for server in servers if _is_of_family(socket.AF_INET, server)],
        "ip6_nameservers": [server for server in servers if _is_of_family(socket.AF_INET6, server.partition("%")[0])],
        "sortlist": words["sortlist"],
        "domain": " ".join(words["domain"]),
        "search": words["search"],
        "options": words["options"],
    }


def _gateways(root: str) -> dict[str, Any]:
    """Return ip4_gw and ip6_gw (an address, True for a default route without one, or False) and ip_gw."""
    ip4 = _gateway(route for route in ipv4_routes(read_text(root, "proc/net/route")) if route.destination == _ANY_IPV4)
    ip6 = _gateway(
        route
        for route in ipv6_routes(read_text(root, "proc/net/ipv6_route"))
        if route.destination == "::" and route.prefix == 0 and route.interface != "lo"
    )
    return {"ip4_gw": ip4, "ip6_gw": ip6, "ip_gw": bool(ip4 or ip6)}


def _gateway(routes: Iterable[Route]) -> str | bool:
    for route in routes:
        if route.flags & _UP:
            return True if route.gateway in {_ANY_IPV4, "::"} else route.gateway
    return False


_PROCESSOR = lazy_pattern(r"(?m)^processor\s*:")
_MEMORY = lazy_pattern(r"(?m)^(MemTotal|SwapTotal):\s*(\d+)")

_FIRMWARE = {
    "biosversion": "bios_version",
    "biosvendor": "bios_vendor",
    "boardname": "board_name",
    "productname": "product_name",
    "manufacturer": "sys_vendor",
    "biosreleasedate": "bios_date",
    "uuid": "product_uuid",
    "serialnumber": "product_serial",
}
_HYPERVISOR_OF_FIRMWARE = (
    ("Amazon EC2", {"virtual": "Nitro", "virtual_subtype": "Amazon EC2"}),
    ("RHEV Hypervisor", {"virtual": "kvm", "virtual_subtype": "rhev"}),
    ("oVirt", {"virtual": "kvm", "virtual_subtype": "ovirt"}),
    ("Nutanix", {"virtual": "kvm", "virtual_subtype": "Nutanix AHV"}),
    ("VirtualBox", {"virtual": "VirtualBox"}),
    ("VMware", {"virtual": "VMware"}),
    ("Parallels", {"virtual": "Parallels"}),
    ("BHYVE", {"virtual": "bhyve"}),
    ("Google", {"virtual": "gce"}),
    ("OpenStack", {"virtual": "kvm"}),
    ("KVM", {"virtual": "kvm"}),
    ("QEMU", {"virtual": "kvm"}),
    ("Bochs", {"virtual": "kvm"}),
    ("SeaBIOS", {"virtual": "kvm"}),
)
_CONTAINERS = {
    "lxc": "LXC",
    "lxc-libvirt": "LXC",
    "docker": "Docker",
    "podman": "Podman",
    "systemd-nspawn": "systemd-nspawn",
    "wsl": "WSL",
}
_CONTAINER_OF_CGROUP = (
    (":/lxc/", {"virtual": "container", "virtual_subtype": "LXC"}),
    (":/kubepods/", {"virtual": "container", "virtual_subtype": "kubernetes"}),
    (":/libpod_parent/", {"virtual": "container", "virtual_subtype": "libpod"}),
    (":/docker", {"virtual": "container", "virtual_subtype": "Docker"}),
    (":/system.slice/docker", {"virtual": "container", "virtual_subtype": "Docker"}),
)


_GPU_VENDORS = {"10de": "nvidia", "1002": "amd", "8086": "intel", "15ad": "vmware", "102b": "matrox", "1a03": "aspeed"}
"""Names of vendors by their PCI numbers; Salt calls all others unknown."""
_PCI_NAMES = ("usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids")


def cpu_grains(root: str = "/") -> dict[str, Any]:
    """Return num_cpus, cpu_model and cpu_flags."""
    grains: dict[str, Any] = {"num_cpus": 0, "cpu_model": "Unknown", "cpu_flags": []}
    text = read_text(root, "proc/cpuinfo")
    for line in text.partition("\n\n")[0].splitlines():
        key, _, value = (part.strip() for part in line.partition(":"))
        if key in {"vendor_id", "model name", "cpu"}:
            grains["cpu_model"] = value
        elif key == "Processor":  # ARM
            grains["cpu_model"] = value.partition("-")[0]
        elif key in {"flags", "Features"}:
            grains["cpu_flags"] = value.split()
        elif key == "# processors":  # IBM mainframes
            grains["num_cpus"] = int(value)
    grains["num_cpus"] = grains["num_cpus"] or len(_PROCESSOR.findall(text))
    return grains


def memory_grains(root: str = "/") -> dict[str, Any]:
    """Return mem_total and swap_total in MiB."""
    sizes = dict(_MEMORY.findall(read_text(root, "proc/meminfo")))
    return {"mem_total": int(sizes.get("MemTotal", 0)) // 1024, "swap_total": int(sizes.get("SwapTotal", 0)) // 1024}


def firmware_grains(root: str = "/") -> dict[str, Any]:
    """Return manufacturer, productname, serialnumber, uuid and the bios grains that this user may read."""
    found = {grain: read_text(root, f"sys/class/dmi/id/{file}").strip() for grain, file in _FIRMWARE.items()}
    if "uuid" in found:
        found["uuid"] = found["uuid"].lower()
    efi = next((path for path in ("efivars", "vars") if list_names(root, f"sys/firmware/efi/{path}")), None)
    grains: dict[str, Any] = {key: value for key, value in found.items() if value}
    grains["efi"] = efi is not None
    grains["efi-secure-boot"] = efi is not None and _secure_boot(root, efi)
    return grains


def _secure_boot(root: str, directory: str) -> bool:
    for name in list_names(root, f"sys/firmware/efi/{directory}"):
        if name.startswith("SecureBoot-"):
            path = f"sys/firmware/efi/{directory}/{name}" + ("/data" if directory == "vars" else "")
            return read_text(root, path).endswith("\x01")
    return False


def virtual_grains(root: str = "/") -> dict[str, Any]:
    """Return virtual ("physical" on bare metal) and virtual_subtype: the innermost container, else the hypervisor."""
    if container := _container(root):
        return container
    if os.path.isfile(os.path.join(root, "proc/vz/version")):
        return {"virtual": "openvzhn"}
    if os.path.isfile(os.path.join(root, "proc/vz/veinfo")):
        return {"virtual": "openvzve"}
    if any(os.path.isdir(os.path.join(root, path)) for path in ("proc/xen", "proc/sys/xen")):
        return {"virtual": "xen", "virtual_subtype": _xen_domain(root)}
    names = ("sys_vendor", "product_name", "bios_vendor", "board_vendor")
    firmware = " ".join(read_text(root, f"sys/class/dmi/id/{name}").strip() for name in names)
    for mark, grains in _HYPERVISOR_OF_FIRMWARE:
        if mark in firmware:
            return dict(grains)
    if "Microsoft" in firmware and "Virtual Machine" in firmware:
        return {"virtual": "VirtualPC"}
    if list_names(root, "sys/bus/virtio/devices") and " hypervisor" in read_text(root, "proc/cpuinfo"):
        return {"virtual": "kvm"}
    return {"virtual": "physical"}


def _container(root: str) -> dict[str, Any]:
    cgroup = read_text(root, "proc/1/cgroup")
    for mark, grains in _CONTAINER_OF_CGROUP:
        if mark in cgroup:
            return dict(grains)
    if os.path.exists(os.path.join(root, ".dockerenv")):
        kind = "docker"
    elif os.path.exists(os.path.join(root, "run/.containerenv")):
        kind = "podman"
    else:
        found = re.search(r"(?:^|\0)container=([^\0]+)", read_text(root, "proc/1/environ"))
        kind = found[1] if found else read_text(root, "run/systemd/container").strip()
    return {"virtual": "container", "virtual_subtype": _CONTAINERS.get(kind, kind)} if kind else {}


def _xen_domain(root: str) -> str:
    if "control_d" in read_text(root, "proc/xen/capabilities") or os.path.exists(
        os.path.join(root, "proc/xen/xsd_kva")
    ):
        return "Xen Dom0"
    return "Xen HVM DomU" if "HVM domU" in read_text(root, "sys/class/dmi/id/product_name") else "Xen PV DomU"


def disk_grains(root: str = "/") -> dict[str, Any]:
    """Return disks (the rotating ones) and ssds, without virtual devices."""
    grains: dict[str, Any] = {"disks": [], "ssds": []}
    for name in list_names(root, "sys/block"):
        try:
            target = os.readlink(os.path.join(root, "sys/block", name))
        except OSError:
            continue
        kind = {"1": "disks", "0": "ssds"}.get(read_text(root, f"sys/block/{name}/queue/rotational").strip())
        if kind and not target.startswith("../devices/virtual/"):
            grains[kind].append(name)
    return grains


def boot_grains(root: str = "/") -> dict[str, Any]:
    """Return kernelparams, as pairs of name and value (or None), and fibre_channel_host."""
    line = read_text(root, "proc/cmdline")
    try:
        words = shlex.split(line)
    except ValueError:  # an unclosed quote
        words = line.split()
    pairs = [word.split("=") for word in words]
    return {
        "kernelparams": [(parts[0], parts[1].strip('"') if len(parts) == 2 else None) for parts in pairs],
        "fibre_channel_host": os.path.isdir(os.path.join(root, "sys/class/fc_host")),
    }


def gpu_grains(root: str = "/") -> dict[str, Any]:
    """Return gpus and num_gpus: display controllers and accelerators on the PCI bus, as lspci names them."""
    gpus = []
    for slot in list_names(root, "sys/bus/pci/devices"):
        kind, vendor, device = (
            read_text(root, f"sys/bus/pci/devices/{slot}/{what}").strip().removeprefix("0x")
            for what in ("class", "vendor", "device")
        )
        if kind.startswith(("0300", "0302", "0380", "1200")):
            model = _pci_name(root, vendor, device) or f"Device {device}"
            gpus.append({"vendor": _GPU_VENDORS.get(vendor, "unknown"), "model": model})
    return {"num_gpus": len(gpus), "gpus": gpus}


def _pci_name(root: str, vendor: str, device: str) -> str:
    """Return the name of a device from lspci's list; "" for an unknown one."""
    for path in _PCI_NAMES:
        _, found, devices = f"\n{read_text(root, path)}".partition(f"\n{vendor}  ")
        for line in devices.splitlines()[1:] if found else ():
            if line and not line.startswith(("\t", "#")):
                break
            if line.startswith(f"\t{device}  "):
                return line[len(device) + 3 :].strip()
    return ""
