"""The paths of the files that tell package managers their sources and the keys they trust."""

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
