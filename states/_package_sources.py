"""Paths of the files with the sources and trusted keys of package managers."""

FILES = (
    "/etc/apt/**",
    "/usr/share/keyrings/**",
    "/etc/yum.conf",
    "/etc/yum.repos.d/**",
    "/etc/dnf/**",
    "/etc/pki/rpm-gpg/**",
    "/etc/zypp/**",
    "/etc/pacman.conf",
    "/etc/pacman.d/**",
    "/etc/apk/**",
)
