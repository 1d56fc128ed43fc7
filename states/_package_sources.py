"""Where package managers are told what there is to install, from where, and whom to trust."""

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
