"""Grains of the hardware: processor, memory, firmware, disks, and the kind of virtualisation."""

from __future__ import annotations

import os
import re
import shlex
from typing import Any

from asyncstate.pattern import lazy_pattern
from asyncstate.sources.machine import list_names, read_text

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
