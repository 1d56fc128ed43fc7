"""Bundled states of two formulas that share a thing: one of them waits, whichever comes first."""

import pytest
from bundled_states import Bundled, edges_between
from plugin_harness import PluginHarness
from tables import rows
from trees import edges, plan

SHARED = {
    "a group whose number may change and a file of it": (
        "group.present: [{name: root}, {gid: 5}]",
        "file.managed: [{name: /srv/x}, {user: root}, {group: root}]",
    ),
    "the settings are in the file that is the default": (
        "file.managed: [{name: /etc/sysctl.d/99-salt.conf}]",
        "sysctl.present: [{name: a}, {value: 1}]",
    ),
    "one file of settings, named or not": (
        "sysctl.present: [{name: a}, {value: 1}, {config: /etc/sysctl.conf}]",
        "sysctl.present: [{name: a}, {value: 1}]",
    ),
    "modules are in a file": ("file.managed: [{name: /etc/modules}]", "kmod.present: [{name: a}, {persist: true}]"),
    "one list of modules": ("kmod.present: [{name: b}, {persist: true}]", "kmod.present: [{name: a}, {persist: true}]"),
    "the console's layout comes with that of X": ("keyboard.xorg: [{name: us}]", "keyboard.system: [{name: us}]"),
    "the layout is in a file": ("keyboard.xorg: [{name: us}]", "file.managed: [{name: /etc/default/keyboard}]"),
    "the time zone is a link": ("timezone.system: [{name: UTC}]", "file.symlink: [{name: /etc/localtime}, {target: /x}]"),
    "the clock is in a file": ("timezone.system: [{name: UTC}]", "file.managed: [{name: /etc/adjtime}]"),
    "a locale is compiled before it is the system's": ("locale.present: [{name: C}]", "locale.system: [{name: C}]"),
    "the locale is in a file": ("file.managed: [{name: /etc/default/locale}]", "locale.system: [{name: C}]"),
    "what is compiled is in a list": ("file.managed: [{name: /etc/locale.gen}]", "locale.present: [{name: C}]"),
    "PostgreSQL runs before it is asked": ("service.running: [{name: postgresql}]", "postgres_user.present: [{name: u}]"),
    "a cluster holds roles": ("postgres_cluster.present: [{name: m}, {version: '15'}]", "postgres_user.present: [{name: u}]"),
    "a role has privileges": (
        "postgres_user.present: [{name: u}]",
        "postgres_privileges.present: [{name: u}, {object_name: t}, {object_type: table}]",
    ),
    "a cluster is in a folder": ("file.directory: [{name: /srv/pg}]", "postgres_cluster.present: [{name: m}, {version: '15'}, {datadir: /srv/pg}]"),
    "a tablespace is in a folder": ("file.directory: [{name: /srv/ts}]", "postgres_tablespace.present: [{name: m}, {directory: /srv/ts}]"),
    "PostgreSQL has an account": ("user.present: [{name: postgres}]", "postgres_user.present: [{name: u}]"),
    "git reads its user's configuration": ("file.managed: [{name: /root/.gitconfig}]", "git.latest: [{name: 'https://h/r'}, {target: /g}]"),
    "git's configuration is a file": ("file.managed: [{name: /root/.gitconfig}]", "git.config_set: [{name: a.b}, {value: c}, {global: true}]"),
    "a working tree has a configuration": (
        "git.latest: [{name: 'https://h/r'}, {target: /g}]",
        "git.config_set: [{name: a.b}, {value: c}, {repo: /g}]",
    ),
    "one configuration of a working tree": (
        "git.config_set: [{name: x.b}, {value: c}, {repo: /g}]",
        "git.config_set: [{name: a.b}, {value: c}, {repo: /g}]",
    ),
    "git asks a machine that root knows": ("ssh_known_hosts.present: [{name: h}, {user: root}]", "git.latest: [{name: 'git@h:r'}, {target: /g}]"),
    "git asks a machine that its user knows": (
        "ssh_known_hosts.present: [{name: h}, {user: u}]",
        "git.latest: [{name: 'git@h:r'}, {target: /g}, {user: u}]",
    ),
    "git asks a machine that all know": ("ssh_known_hosts.present: [{name: h}]", "git.latest: [{name: 'git@h:r'}, {target: /g}, {user: u}]"),
    "git shows a key": ("file.managed: [{name: /root/.ssh/id_rsa}]", "git.latest: [{name: 'git@h:r'}, {target: /g}]"),
    "keys that are let in are in a file": ("file.managed: [{name: /home/u/.ssh/authorized_keys}]", "ssh_auth.present: [{name: AAAA}, {user: u}]"),
    "one file of keys": ("ssh_auth.present: [{name: AAAA}, {user: u}]", "ssh_auth.absent: [{name: BBBB}, {user: u}]"),
    "one file of keys, managed as a whole": (
        "ssh_auth.present: [{name: AAAA}, {user: u}]",
        "ssh_auth.manage: [{name: x}, {user: u}, {ssh_keys: [a]}]",
    ),
    "one file of machines": ("ssh_known_hosts.present: [{name: h}, {user: u}]", "ssh_known_hosts.absent: [{name: k}, {user: u}]"),
    "an image that has a tag": ("docker_image.present: [{name: nginx}, {tag: latest}]", "docker_container.running: [{name: c}, {image: nginx}]"),
    "an image that is the latest": ("docker_image.present: [{name: 'nginx:latest'}]", "docker_container.running: [{name: c}, {image: nginx}]"),
    "an image of a registry": ("docker_image.present: [{name: h/nginx}, {tag: 1}]", "docker_container.running: [{name: c}, {image: 'h/nginx:1'}]"),
    "a container is in a network": ("docker_network.present: [{name: n}]", "docker_container.running: [{name: c}, {image: x}, {networks: [n]}]"),
    "a container has a network's mode": (
        "docker_network.present: [{name: n}]",
        "docker_container.running: [{name: c}, {image: x}, {network_mode: n}]",
    ),
    "a network has containers": ("docker_container.running: [{name: c}, {image: x}]", "docker_network.present: [{name: n}, {containers: [c]}]"),
    "containers are linked": (
        "docker_container.running: [{name: c}, {image: x}]",
        "docker_container.running: [{name: d}, {image: x}, {links: 'c:c'}]",
    ),
    "containers are linked, in a list": (
        "docker_container.running: [{name: c}, {image: x}]",
        "docker_container.running: [{name: d}, {image: x}, {links: [{c: c}]}]",
    ),
    "containers share volumes": (
        "docker_container.running: [{name: c}, {image: x}]",
        "docker_container.running: [{name: d}, {image: x}, {volumes_from: c}]",
    ),
    "containers share a network": (
        "docker_container.running: [{name: c}, {image: x}]",
        "docker_container.running: [{name: d}, {image: x}, {network_mode: 'container:c'}]",
    ),
    "several containers stop": ("docker_container.running: [{name: c}, {image: x}]", "docker_container.stopped: [{name: d}, {containers: [c]}]"),
    "several containers stop, in a text": (
        "docker_container.running: [{name: c}, {image: x}]",
        "docker_container.stopped: [{name: d}, {containers: 'c,e'}]",
    ),
    "a container has a folder": ("file.directory: [{name: /srv/w}]", "docker_container.running: [{name: d}, {image: x}, {binds: '/srv/w:/w'}]"),
    "Docker runs before it is asked": ("service.running: [{name: docker}]", "docker_container.running: [{name: d}, {image: x}]"),
    "an image goes after its container": ("docker_container.absent: [{name: d}]", "docker_image.absent: [{name: x}]"),
    "an image is used before it goes": ("docker_container.running: [{name: d}, {image: x}]", "docker_image.absent: [{name: x}]"),
    "a package has its source in a file": ("file.managed: [{name: /etc/apt/sources.list.d/x.list}]", "pkg.installed: [{name: a}]"),
    "a package needs a key": ("file.managed: [{name: /etc/apt/keyrings/x.gpg}]", "pkg.installed: [{name: a}]"),
    "a source needs its key": (
        "file.managed: [{name: /usr/share/keyrings/x.gpg}]",
        "pkgrepo.managed: [{name: 'deb [signed-by=/usr/share/keyrings/x.gpg] http://x y main'}]",
    ),
    "a source needs its key in apt's folder": (
        "file.managed: [{name: /etc/apt/keyrings/x.gpg}]",
        "pkgrepo.managed: [{name: 'deb [signed-by=/etc/apt/keyrings/x.gpg] http://x y main'}]",
    ),
    "a package has its repository in a file": ("file.managed: [{name: /etc/yum.repos.d/x.repo}]", "pkg.installed: [{name: a}]"),
    "a repository is a file": ("file.managed: [{name: /etc/yum.repos.d/x.repo}]", "pkgrepo.managed: [{name: x}]"),
    "a repository needs its key": ("file.managed: [{name: /etc/pki/k}]", "pkgrepo.managed: [{name: x}, {gpgkey: 'file:///etc/pki/k'}]"),
    "apt is configured": ("file.managed: [{name: /etc/apt/apt.conf.d/99x}]", "pkg.installed: [{name: a}]"),
    "a package asks questions": ("debconfmod.set: [{name: p}, {data: {}}]", "pkg.installed: [{name: a}]"),
    "a package's answers are in a file": ("debconfmod.set_file: [{name: p}, {source: /x}]", "pkg.installed: [{name: a}]"),
    "a service has a unit": ("file.managed: [{name: /etc/systemd/system/x.service}]", "service.running: [{name: x}]"),
    "a service has a script": ("file.managed: [{name: /etc/init.d/x}]", "service.running: [{name: x}]"),
    "one fstab": ("file.append: [{name: /etc/fstab}]", "mount.mounted: [{name: /m}, {device: /dev/x}, {fstype: ext4}]"),
    "one fstab, by mount": (
        "mount.fstab_present: [{name: x}, {fs_file: /a}, {fs_vfstype: ext4}]",
        "mount.mounted: [{name: /m}, {device: /dev/x}, {fstype: ext4}]",
    ),
    "a file is in what is mounted": ("mount.mounted: [{name: /m}, {device: /dev/x}, {fstype: ext4}]", "file.managed: [{name: /m/a}]"),
    "a mount is in another": (
        "mount.mounted: [{name: /m}, {device: /dev/x}, {fstype: ext4}, {persist: false}]",
        "mount.mounted: [{name: /m/n}, {device: /dev/y}, {fstype: ext4}, {persist: false}]",
    ),
    "one mount point": ("mount.mounted: [{name: /m}, {device: /dev/x}, {fstype: ext4}]", "mount.unmounted: [{name: /m}]"),
    "a daemon that ends frees a mount": ("service.dead: [{name: a}]", "mount.unmounted: [{name: /m}]"),
    "a daemon that starts uses a mount": ("service.running: [{name: a}]", "mount.unmounted: [{name: /m}]"),
    "a container that ends frees a mount": ("docker_container.absent: [{name: a}]", "mount.unmounted: [{name: /m}]"),
    "a package that goes ends its daemon": ("pkg.removed: [{name: a}]", "mount.unmounted: [{name: /m}]"),
    "a command that ends a daemon frees a mount": ("cmd.run: [{name: pkill app}]", "mount.unmounted: [{name: /m}]"),
    "a daemon that ends frees what another device takes": (
        "service.dead: [{name: a}]", "mount.mounted: [{name: /m}, {device: /dev/x}, {fstype: ext4}]",
    ),
    "a swap file is made": ("cmd.run: [{name: mkswap /swap}]", "mount.swap: [{name: /swap}]"),
    "one alternative": (
        "alternatives.install: [{name: e}, {link: /usr/bin/e}, {path: /usr/bin/v}, {priority: 1}]",
        "alternatives.set: [{name: e}, {path: /usr/bin/v}]",
    ),
    "an alternative is a link": (
        "alternatives.install: [{name: e}, {link: /usr/bin/e}, {path: /usr/bin/v}, {priority: 1}]",
        "file.symlink: [{name: /usr/bin/e}, {target: /x}]",
    ),
    "an alternative is a program": ("file.managed: [{name: /usr/bin/v}]", "alternatives.set: [{name: e}, {path: /usr/bin/v}]"),
    "one alternative, left to itself": ("alternatives.auto: [{name: e}]", "alternatives.set: [{name: e}, {path: /usr/bin/v}]"),
    "one INI file": ("file.managed: [{name: /etc/a.ini}]", "ini_manage.options_present: [{name: /etc/a.ini}, {sections: {}}]"),
    "a certificate is signed by a key": (
        "x509.private_key_managed: [{name: /k}]",
        "x509.certificate_managed: [{name: /c}, {signing_private_key: /k}]",
    ),
    "a certificate has a key": ("x509.private_key_managed: [{name: /k}]", "x509.certificate_managed: [{name: /c}, {private_key: /k}]"),
    "a certificate was asked for": ("x509.csr_managed: [{name: /r}]", "x509.certificate_managed: [{name: /c}, {csr: /r}]"),
    "a certificate has an authority": ("x509.certificate_managed: [{name: /ca}]", "x509.certificate_managed: [{name: /c}, {signing_cert: /ca}]"),
    "a certificate has a public key": ("x509.private_key_managed: [{name: /k}]", "x509.certificate_managed: [{name: /c}, {public_key: /k}]"),
    "a list of revocations is signed": ("x509.private_key_managed: [{name: /k}]", "x509.crl_managed: [{name: /c}, {signing_private_key: /k}]"),
    "a key is in a folder": ("file.directory: [{name: /etc/pki}]", "x509.private_key_managed: [{name: /etc/pki/k}]"),
    "requirements are in a file": ("file.managed: [{name: /a/req.txt}]", "pip.installed: [{name: x}, {requirements: /a/req.txt}]"),
    "requirements are in a working tree": (
        "git.latest: [{name: 'https://h/r'}, {target: /g}]",
        "pip.installed: [{name: x}, {requirements: req.txt}, {cwd: /g}, {bin_env: /v}]",
    ),
    "pip is in an environment": ("virtualenv.managed: [{name: /srv/v}]", "pip.installed: [{name: x}, {bin_env: /srv/v/bin/pip3}]"),
    "environments are made by what pip brings": ("pip.installed: [{name: virtualenv}]", "virtualenv.managed: [{name: /srv/v}]"),
    "an environment has requirements in a working tree": (
        "git.latest: [{name: 'https://h/r'}, {target: /g}]",
        "virtualenv.managed: [{name: /v}, {requirements: req.txt}, {cwd: /g}]",
    ),
    "pip is configured": ("file.managed: [{name: /etc/pip.conf}]", "pip.installed: [{name: x}]"),
    "one file of aliases": ("file.managed: [{name: /etc/aliases}]", "alias.present: [{name: x}, {target: y}]"),
    "one file of hosts, edited": ("file.append: [{name: /etc/hosts}]", "host.only: [{name: 10.0.0.1}, {hostnames: y}]"),
    "a table comes from a file": ("file.managed: [{name: /x/tab}]", "cron.file: [{name: /x/tab}]"),
    "one table, with variables": ("cron.env_present: [{name: PATH}, {value: x}]", "cron.file: [{name: y}]"),
    "a group has users": ("user.present: [{name: u}]", "group.present: [{name: g}, {addusers: [u]}]"),
    "a home is in a folder": ("file.directory: [{name: /srv/h}]", "user.present: [{name: u}, {home: /srv/h/u}]"),
    "a file shows a grain": ("grains.present: [{name: a}, {value: 1}]", "file.managed: [{name: /x}, {contents_grains: a}]"),
    "a template asks for grains": ("grains.present: [{name: a}, {value: 1}]", "file.managed: [{name: /x}, {source: 'salt://x'}, {template: jinja}]"),
    "a template asks for the environment": (
        "environ.setenv: [{name: A}, {value: b}]",
        "file.recurse: [{name: /x}, {source: 'salt://x'}, {template: jinja}]",
    ),
    "git inherits the environment": ("environ.setenv: [{name: A}, {value: b}]", "git.latest: [{name: 'https://h/r'}, {target: /g}]"),
    "an edit keeps a copy beside the file": ("file.replace: [{name: /a}, {pattern: x}, {repl: y}]", "file.managed: [{name: /a.bak}]"),
    "a comment keeps a copy beside the file": ("file.comment: [{name: /a}, {regex: x}]", "file.exists: [{name: /a.bak}]"),
    "a copy has an ending": ("file.uncomment: [{name: /a}, {regex: x}, {backup: .old}]", "file.absent: [{name: /a.old}]"),
    "a block's file is copied if asked": ("file.blockreplace: [{name: /a}, {content: x}, {backup: .sav}]", "file.managed: [{name: /a.sav}]"),
    "what is in the way is kept": ("file.directory: [{name: /a/b}, {backupname: /c/d}]", "file.exists: [{name: /c/d/e}]"),
    "what a link replaces is kept": ("file.symlink: [{name: /a/b}, {target: /t}, {backupname: b.old}]", "file.managed: [{name: /a/b.old/x}]"),
    "backups are kept in the cache": ("file.managed: [{name: /a/b}, {backup: minion}]", "file.absent: [{name: /CACHE/file_backup}]"),
    "a folder gets the mode of who makes it first": (
        "file.managed: [{name: /x/a}, {makedirs: true}, {dir_mode: '700'}]",
        "file.managed: [{name: /x/b}, {makedirs: true}]",
    ),
    "a folder gets a mode by that of the file": (
        "file.managed: [{name: /x/a}, {makedirs: true}, {mode: '600'}]",
        "file.managed: [{name: /x/b}, {makedirs: true}, {mode: '644'}]",
    ),
    "a folder gets the owner of who makes it first": (
        "file.managed: [{name: /x/y/a}, {makedirs: true}, {user: www}]",
        "file.symlink: [{name: /x/b}, {target: /t}, {makedirs: true}]",
    ),
    "keys bring their folder": ("ssh_auth.present: [{name: AAAA}, {user: u}]", "file.managed: [{name: /home/u/.ssh/config}]"),
    "hosts bring their folder": ("ssh_known_hosts.present: [{name: h}, {user: u}]", "file.directory: [{name: /home/u/.ssh}, {mode: '755'}]"),
    "a user has a number": ("user.present: [{name: u}, {uid: 1234}]", "file.managed: [{name: /x}, {user: 1234}]"),
    "a user may get a number": ("user.present: [{name: u}]", "file.directory: [{name: /x}, {user: '1234'}]"),
    "a group has a number": ("group.present: [{name: g}, {gid: 1234}]", "file.managed: [{name: /x}, {group: 1234}]"),
    "a home has a skeleton": ("file.managed: [{name: /etc/skel/.bashrc}]", "user.present: [{name: u}]"),
    "accounts have defaults": ("file.replace: [{name: /etc/login.defs}, {pattern: x}, {repl: y}]", "user.present: [{name: u}]"),
    "accounts are in a file": ("file.append: [{name: /etc/group}, {text: x}]", "group.present: [{name: g}]"),
    "a group changes what its members may do": ("group.present: [{name: g}, {addusers: [u]}]", "cmd.run: [{name: x}, {runas: u}]"),
    "a table goes with its user": ("cron.present: [{name: x}, {user: u}]", "user.absent: [{name: u}, {purge: true}]"),
    "names are looked up in a file": (
        "host.present: [{name: h}, {ip: 10.0.0.1}]",
        "file.managed: [{name: /x}, {source: 'https://h/x'}, {skip_verify: true}]",
    ),
    "names are looked up before something is fetched": (
        "file.managed: [{name: /etc/resolv.conf}]",
        "archive.extracted: [{name: /x}, {source: 'https://h/x.tar'}]",
    ),
    "names are looked up before a hash is fetched": (
        "file.managed: [{name: /etc/nsswitch.conf}]",
        "file.cached: [{name: 'salt://x'}, {source_hash: 'https://h/x.sha256'}]",
    ),
    "names are looked up before git reaches a host": ("host.present: [{name: h}, {ip: 10.0.0.1}]", "git.latest: [{name: 'git@h:r'}, {target: /g}]"),
    "names are looked up before a request": ("host.present: [{name: h}, {ip: 10.0.0.1}]", "http.query: [{name: 'http://h/'}, {status: 200}]"),
    "names are looked up before pip reaches its index": ("host.present: [{name: pypi.org}, {ip: 10.0.0.1}]", "pip.installed: [{name: x}]"),
    "names are looked up before a host is asked for its key": (
        "host.present: [{name: h}, {ip: 10.0.0.1}]",
        "ssh_known_hosts.present: [{name: h}, {user: u}]",
    ),
    "names are looked up before a database is reached": (
        "host.present: [{name: db}, {ip: 10.0.0.1}]",
        "postgres_user.present: [{name: u}, {db_host: db}]",
    ),
    "names are looked up before a share is mounted": (
        "host.present: [{name: nas}, {ip: 10.0.0.1}]",
        "mount.mounted: [{name: /m}, {device: 'nas:/x'}, {fstype: nfs}]",
    ),
    "a share has credentials": (
        "file.managed: [{name: /etc/smb}]",
        "mount.mounted: [{name: /m}, {device: //nas/x}, {fstype: cifs}, {opts: 'ro,credentials=/etc/smb'}]",
    ),
    "git shows a password": ("file.managed: [{name: /home/u/.netrc}]", "git.latest: [{name: 'https://h/r'}, {target: /g}, {user: u}]"),
    "git shows a stored password": ("file.managed: [{name: /root/.git-credentials}]", "git.cloned: [{name: 'https://h/r'}, {target: /g}]"),
    "a locale is compiled before a cluster has it": (
        "locale.present: [{name: de_DE.UTF-8}]",
        "postgres_cluster.present: [{name: main}, {version: 15}, {locale: de_DE.UTF-8}]",
    ),
    "a locale is compiled before a database has it": (
        "locale.present: [{name: de_DE.UTF-8}]",
        "postgres_database.present: [{name: d}, {lc_collate: de_DE.UTF-8}]",
    ),
    "a cluster has settings": (
        "postgres_cluster.present: [{name: main}, {version: 15}]",
        "file.managed: [{name: /etc/postgresql/15/main/pg_hba.conf}]",
    ),
    "a package of Python is a file": ("file.managed: [{name: /w/x-1.0-py3-none-any.whl}]", "pip.installed: [{name: /w/x-1.0-py3-none-any.whl}]"),
    "one of several packages of Python is a file": (
        "file.managed: [{name: /w/x.whl}]",
        "pip.installed: [{name: x}, {pkgs: [y, 'x @ file:///w/x.whl']}]",
    ),
    "packages of Python have constraints": ("file.managed: [{name: /w/c.txt}]", "pip.installed: [{name: x}, {extra_args: [{-c: /w/c.txt}]}]"),
    "packages of Python have constraints, by variable": (
        "file.managed: [{name: /w/c.txt}]",
        "pip.installed: [{name: x}, {env_vars: {PIP_CONSTRAINT: /w/c.txt}}]",
    ),
    "pip is configured by its user": ("file.managed: [{name: /home/u/.config/pip/pip.conf}]", "pip.installed: [{name: x}, {user: u}]"),
    "pip is configured before it fills an environment": (
        "file.managed: [{name: /etc/pip.conf}]",
        "virtualenv.managed: [{name: /v}, {pip_pkgs: [x]}]",
    ),
    "a hash is in a file": (
        "file.managed: [{name: /s/sums}]",
        "archive.extracted: [{name: /x}, {source: 'https://h/x.tar'}, {source_hash: /s/sums}]",
    ),
    "a signature is in a file": ("file.managed: [{name: /s/x.asc}]", "file.managed: [{name: /x}, {source: 'https://h/x'}, {signature: /s/x.asc}]"),
    "a signature of hashes is in a file": (
        "file.managed: [{name: /s/x.asc}]",
        "file.cached: [{name: 'https://h/x'}, {source_hash: /s/x}, {source_hash_sig: /s/x.asc}]",
    ),
    "a keyring is a file": (
        "file.managed: [{name: /s/ring.gpg}]",
        "archive.extracted: [{name: /x}, {source: /x.tar}, {signature: /x.asc}, {keyring: /s/ring.gpg}]",
    ),
    "keys are in the folder of GnuPG": (
        "file.managed: [{name: /s/gpg/pubring.kbx}]",
        "file.managed: [{name: /x}, {source: 'https://h/x'}, {signature: true}, {gnupghome: /s/gpg}]",
    ),
    "a file is checked in a folder": ("file.directory: [{name: /s/tmp}]", "file.managed: [{name: /x}, {check_cmd: visudo -cf}, {tmp_dir: /s/tmp}]"),
    "a local file is cached": ("file.managed: [{name: /s/x}]", "file.cached: [{name: /s/x}]"),
    "a patch leaves what it rejects": ("file.patch: [{name: /x}, {source: 'salt://x'}, {reject_file: /s/x.rej}]", "file.managed: [{name: /s/x.rej}]"),
    "a container sees what is in a folder": (
        "file.managed: [{name: /srv/w/nginx.conf}]",
        "docker_container.running: [{name: d}, {image: x}, {binds: '/srv/w:/w:ro'}]",
    ),
    "a certificate's folder has a mode": (
        "x509.private_key_managed: [{name: /x/k}, {makedirs: true}, {dir_mode: '700'}]",
        "file.managed: [{name: /x/b}, {makedirs: true}]",
    ),
    "a source brings its key": (
        "pkgrepo.managed: [{name: 'deb [signed-by=/k/x.gpg] http://x y main'}, {key_url: 'salt://x.gpg'}]",
        "file.exists: [{name: /k/x.gpg}]",
    ),
    "a link replaces a folder": ("file.managed: [{name: /a/b/c}]", "file.symlink: [{name: /a/b}, {target: /t}, {force: true}]"),
    "a device brings its folder": ("file.mknod: [{name: /x/y/d}, {ntype: p}]", "file.managed: [{name: /x/y/f}]"),
    "a request shows a certificate": ("file.managed: [{name: /c}]", "http.query: [{name: x}, {cert: /c}]"),
}  # fmt: skip
APART = {
    "root, who is always there, and a file of root": (
        "user.present: [{name: root}, {shell: /bin/sh}]",
        "file.managed: [{name: /srv/x}, {user: root}]",
    ),
    "a template and a grain that nobody writes": ("grains.exists: [{name: a}]", "file.managed: [{name: /x}, {contents: y}]"),
    "a plain file and the environment": ("environ.setenv: [{name: A}, {value: b}]", "file.managed: [{name: /x}, {contents: y}]"),
    "no copy is kept": ("file.replace: [{name: /a}, {pattern: x}, {repl: y}, {backup: false}]", "file.managed: [{name: /a.bak}]"),
    "two plain makers of one folder": ("file.managed: [{name: /x/a}, {makedirs: true}]", "archive.extracted: [{name: /x/b}, {source: /s}]"),
    "one mode, said in two ways": (
        "file.managed: [{name: /x/a}, {makedirs: true}, {dir_mode: '0755'}]",
        "file.managed: [{name: /x/b}, {makedirs: true}, {mode: 644}]",
    ),
    "one mode and owner": (
        "file.managed: [{name: /x/a}, {makedirs: true}, {mode: '600'}, {user: u}, {group: g}]",
        "file.directory: [{name: /x/b}, {makedirs: true}, {mode: '700'}, {user: u}, {group: g}]",
    ),
    "keys and hosts bring one folder": ("ssh_auth.present: [{name: AAAA}, {user: u}]", "ssh_known_hosts.present: [{name: h}, {user: u}]"),
    "keys do not make a home": ("ssh_auth.present: [{name: AAAA}, {user: u}]", "file.managed: [{name: /home/u/.bashrc}]"),
    "a host whose key is given": (
        "host.present: [{name: h}, {ip: 10.0.0.1}]",
        "ssh_known_hosts.present: [{name: h}, {user: u}, {key: AAAA}, {enc: ssh-rsa}]",
    ),
    "a database on this machine": ("host.present: [{name: h}, {ip: 10.0.0.1}]", "postgres_user.present: [{name: u}]"),
    "a file of the tree": (
        "host.present: [{name: h}, {ip: 10.0.0.1}]",
        "file.managed: [{name: /x}, {source: 'salt://x'}, {source_hash: 'sha256=00'}]",
    ),
    "two containers of one folder": (
        "docker_container.running: [{name: a}, {image: x}, {binds: '/srv/w:/w'}]",
        "docker_container.running: [{name: b}, {image: x}, {binds: '/srv/w:/w'}]",
    ),
    "two kernel modules": ("kmod.present: [{name: a}]", "kmod.present: [{name: b}]"),
    "services with units": ("service.running: [{name: a}]", "file.managed: [{name: /etc/systemd/system/b.service}]"),
    "instances of two templates": ("service.running: [{name: a@1}]", "service.running: [{name: b@1}]"),
    "git over HTTPS needs no keys": ("file.managed: [{name: /root/.ssh/id}]", "git.latest: [{name: 'https://h/r'}, {target: /g}]"),
    "two images": ("docker_image.present: [{name: a}]", "docker_image.present: [{name: 'b:1'}]"),
    "two containers of an image": ("docker_container.running: [{name: a}, {image: x}]", "docker_container.running: [{name: b}, {image: x}]"),
    "two containers of a network": (
        "docker_container.running: [{name: a}, {image: x}, {network_mode: n}]",
        "docker_container.running: [{name: b}, {image: x}, {networks: n}]",
    ),
    "containers on the host's network": (
        "docker_network.present: [{name: host}]",
        "docker_container.running: [{name: b}, {image: x}, {network_mode: host}]",
    ),
    "pip where everything is below": ("pip.installed: [{name: x}, {bin_env: /v}, {cwd: /}]", "file.managed: [{name: /a}]"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def calling(tmp_path):
    """A context for footprints that ask the options and the pillar."""
    harness = PluginHarness(tmp_path)
    harness.opts["cachedir"] = "/CACHE"
    with harness.calling():
        yield


@pytest.mark.feature("F059")
@rows("case", SHARED)
def test_states_that_share_a_thing_keep_their_order(case):
    first, second = SHARED[case]
    assert edges_between(first, second) == {("s0", "s1")}
    assert edges_between(second, first) == {("s0", "s1")}


@pytest.mark.parametrize("case", APART)
def test_states_that_share_nothing_run_beside_each_other(case):
    assert edges_between(*APART[case]) == set()


NEEDS_THEM = {
    "what brings its program": "cmd.run: [{name: unzip /home/a.zip}, {cwd: /home}]",
    "what has files beside its own": "file.managed: [{name: /etc/ssl/a.conf}]",
    "whatever brings the program it looks for": "cmd.run: [{name: cp /home/a /home/b}, {unless: command -v a}]",
    "any package": "cmd.run: [{name: own-tool /home/a}]",
}
NEEDS_NONE = {
    "programs of the base": "cmd.run: [{name: cp /home/a /home/b}, {unless: test -f /home/b}]",
    "a program of another package": "cmd.run: [{name: bzip2 /home/a}]",
    "a folder of another name": "file.managed: [{name: /etc/nginx/a.conf}]",
    "files only": "file.managed: [{name: /opt/a/b}, {onlyif: grep -q a /home/b}]",
}


def waits_for_packages(state):
    """Whether a state waits for packages of its formula whose contents are listed, whichever comes first."""
    packages = "pkg.installed: [{pkgs: [unzip, openssl]}]"
    grains = {"os_family": "Debian"}
    trees = [f"s0: {{{first}}}\ns1: {{{last}}}\n" for first, last in ((packages, state), (state, packages))]
    first, last = (
        ("s0", "s1") in edges(plan(tree, states=Bundled(), grains=grains, implicit_order="footprint")) for tree in trees
    )
    assert first == last
    return first


@pytest.mark.parametrize("case", NEEDS_THEM)
def test_a_state_waits_for_packages_that_bring(case):
    assert waits_for_packages(NEEDS_THEM[case])


@pytest.mark.parametrize("case", NEEDS_NONE)
def test_a_state_does_not_wait_for_packages_that_it_does_not_need(case):
    assert not waits_for_packages(NEEDS_NONE[case])


FOUND_IN_TREES = [
    ("file.managed: [{name: /etc/foo/a.conf}]", "cmd.run: [{name: systemctl restart foo}]"),
    ("file.managed: [{name: /etc/foo/a.conf}]", "cmd.run: [{name: service foo restart}]"),
    ("file.managed: [{name: /etc/foo.conf}]", "cmd.run: [{name: /etc/init.d/foo reload}]"),
    ("file.managed: [{name: /etc/foo/a.conf}]", "cmd.run: [{name: 'kill -HUP $(cat /run/foo.pid)'}]"),
    ("file.managed: [{name: /etc/foo/a.conf}]", "cmd.run: [{name: kill -HUP 1234}]"),
    ("file.managed: [{name: /etc/foo/a.conf}]", "cmd.run: [{name: pkill -HUP foo}]"),
    ("file.managed: [{name: /etc/foo/a.conf}]", "cmd.run: [{name: docker restart web}]"),
    ("file.managed: [{name: /etc/profile.d/x.sh}]", "cmd.run: [{name: env}, {runas: www}]"),
    ("file.managed: [{name: /etc/profile.d/x.sh}]", "cmd.run: [{name: bash -lc env}]"),
    ("file.managed: [{name: /home/www/.bashrc}]", "cmd.run: [{name: env}, {runas: www}]"),
    ("host.present: [{name: db}, {ip: 192.0.2.1}]", "cmd.run: [{name: getent hosts db}]"),
    ("host.present: [{name: db}, {ip: 192.0.2.1}]", "pkg.installed: [{name: nginx}]"),
    ("file.managed: [{name: /etc/resolv.conf}]", "pkg.installed: [{name: nginx}]"),
    ("file.managed: [{name: /etc/dpkg/dpkg.cfg.d/x}]", "pkg.installed: [{name: nginx}]"),
    ("cmd.run: [{name: mount -a}]", "file.managed: [{name: /mnt/x/y}]"),
    ("cmd.run: [{name: split -b 1M /d/big /d/part.}]", "cmd.run: [{name: cat /d/part.aa}]"),
    ("alternatives.set: [{name: java}, {path: /opt/jdk/bin/java}]", "cmd.run: [{name: java -version}]"),
    ("file.managed: [{name: /etc/sudoers.d/www}]", "cmd.run: [{name: sudo -u www id}]"),
    ("file.managed: [{name: /root/.kube/config}]", "cmd.run: [{name: kubectl get nodes}]"),
    ("file.managed: [{name: /root/.aws/credentials}]", "cmd.run: [{name: aws s3 ls}]"),
    ("file.managed: [{name: /root/.m2/settings.xml}]", "cmd.run: [{name: mvn package}]"),
]
"""Two states of which the first prepares what the second uses, and whose words do not say so."""


@rows(("first", "second"), FOUND_IN_TREES)
@rows("turned", [False, True])
def test_what_the_words_of_two_states_do_not_say_is_ordered_or_told(first, second, turned):
    states = (second, first) if turned else (first, second)
    tree = {f"formula{number}": f"s{number}: {{{state}}}\n" for number, state in enumerate(states)}
    made = plan(tree, list(tree), states=Bundled(), implicit_order="footprint")
    assert made.dag.sources(0, 1) or made.unknown


@pytest.mark.parametrize(
    "command", ["dpkg -i /tmp/x.deb", "apt-get -y install x", "rpm -Uvh /x.rpm", "yum install -y x"]
)
def test_what_a_command_installs_comes_before_what_the_formula_writes_over_it(command):
    made = plan(
        f"a: {{cmd.run: [{{name: {command}}}]}}\nb: {{file.managed: [{{name: /etc/x/x.conf}}]}}\n",
        states=Bundled(),
        implicit_order="footprint",
    )
    assert made.dag.sources(0, 1)
