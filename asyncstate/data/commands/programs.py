"""The table of common programs: the effects of their operands and options, as data.

A line is the names of programs, a colon, and words:

    r  w  m        an operand that is a path: read, written, or a folder to make; ``*`` after it: any number of them
    t              the target of a copy: written, or the file in it with the name of the source
    x              an operand that is no path
    g              an operand of unknown meaning: written if it looks like a path
    script         a file with commands, whose content is not known
    daemon!        a daemon that is started, stopped or signalled, and reads its settings; ``container!``: of docker
    prefix         the beginning of generated names
    user  user!    an operand that names a resource ``user:NAME``, read or written; ``owner`` is ``user:group``,
                   ``groups`` a list, ``account!`` a user with its home
    c              the rest is another command
    -o=w           an option with a value, of the kinds above; ``p``: text in place of the first operand, ``P``: a
                   file in place of it; ``@``: text, or ``@FILE``; ``d``: the working folder; ``D``: the target folder;
                   ``f``: a flag, the rest of its word is no flag; ``i``: the same, the rest is a suffix of backups;
                   ``mode``: the mode of the last folder that it makes, like its ``user`` and ``group``
    ~.gz           a written file has a companion with this suffix
    +name !name    a resource that is always read or written; ``+net``: the lookup of host names
    here cwd       everything in its folder is read; everything in its folder may be written
    lists          without operands it reads all in its folder
    fetch          the files of its URLs are written to its folder
    clones         without the last operand it writes all in its folder
    made           parents of written files are made, too
    link           the written path is a link to the read one
    moved          links in the source are kept in the target; for ``cp`` only with the flags that keep them
    named          its name determines its settings or alternatives, as for all that are ``open``
    open           it may do more than its words show
    tool           it is not part of the base system: a state may install it (like all with fixed resources)

``programs / words`` is the use with a subcommand or an option; it inherits the options of the preceding line
``programs``. An indented line continues the previous one.
"""

from __future__ import annotations

from functools import cache

from asyncstate.value import Value

NETWORK = (
    "path:/etc/hosts",
    "path:/etc/resolv.conf",
    "path:/etc/nsswitch.conf",
    "path:/etc/ssl/certs/ca-certificates.crt",
)
"""The files read to connect to a host by name."""

ACCOUNTS = ("accounts", "path:/etc/passwd", "path:/etc/shadow", "path:/etc/group", "path:/etc/gshadow")
"""The files of all accounts."""

LOGIN = (
    *("path:/etc/profile", "path:/etc/profile.d/**", "path:/etc/environment", "path:/etc/bash.bashrc"),
    *("path:~/.profile", "path:~/.bash_profile", "path:~/.bash_login", "path:~/.bashrc"),
)
"""The files that a login shell reads."""

_SETS = {"net": NETWORK, "accounts": ACCOUNTS}
_MARKS = frozenset({"clones", "cwd", "fetch", "here", "link", "lists", "made", "moved", "named", "open", "tool"})

_TABLE = r"""
: true false echo printf exit return break continue shift set unset wait sleep date uname arch nproc uptime tty =>
    x*
mktemp getopts ulimit umask jobs pgrep ps free vmstat lscpu lsblk lspci dmesg yes seq expr => x*
env-print printenv locale getconf tput clear stty logger basename dirname type hash alias bg fg times history => x*
which => x*
command / -v -V => x*
hostid logname sync whoami => x*
id groups who w users last lastlog finger => x* +accounts
getent => x* +accounts +net
cat tac more less nl od xxd hexdump wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum file
    => r*
md5sum sha1sum sha224sum sha256sum sha384sum sha512sum / -c --check => r* here
readlink realpath df fold rev column paste join comm look cmp pr expand fmt lsattr getfacl namei tsort => r*
stat => r* -c=x --printf=x --format=x
du => r* lists -d=x --max-depth=x --exclude=x
head tail => r* -n=x -c=x --lines=x --bytes=x
cut => r* -d=x -f=x -c=x -b=x
tr => x*
sort => r* -o=w --output=w -k=x -t=x -S=x -T=w
uniq => r w -f=x -s=x -w=x
diff colordiff => r* -U=x -C=x -I=x -x=x --label=x
grep egrep fgrep zgrep rg => x r* -e=p -f=P -A=x -B=x -C=x -m=x -d=x
grep egrep fgrep / -r -R --recursive => x r* here
awk gawk mawk => x r* -F=x -v=x -f=P
sed => x r* -e=p -f=P -l=x
sed / -i --in-place => x w* -i=i --in-place=i
perl / -pi -i -pie => x w* -e=p -i=i
jq => x r* tool -f=P --arg=x --indent=x
yq xmllint => x r* tool
strings => r* -n=x
zcat bzcat xzcat zless => r*
ls ll dir tree vdir => r* lists -I=x -w=x
tee => w*
touch => w* -r=r -d=x -t=x
cp => r* t moved -t=D --target-directory=D -S=x --suffix=x
mv => w* t moved -t=D --target-directory=D -S=x --suffix=x
ln link => r* t link -t=D --target-directory=D -S=x
install => r* t -t=D --target-directory=D -m=mode -o=user -g=group -S=x --mode=mode --owner=user --group=group
install / -D => r* t made
install / -d --directory => m*
rm unlink rmdir shred truncate => w* -s=x --size=x -n=x -r=f
mkdir => w* -m=mode --mode=mode
mkdir / -p --parents => m*
mkfifo mknod => w* -m=x
chgrp => group w* +accounts --reference=r
chmod => x w* --reference=r
chown => owner w* +accounts --reference=r --from=x
chattr setfacl => x w* -m=x -x=x -M=r
setfacl / -m -x -M -b => w*
setcap => x w
patch => w r cwd -i=r -p=x -d=d -o=w
split => r prefix cwd -b=x -l=x -n=x -a=x -C=x
csplit => r x* cwd -f=prefix --prefix=prefix -b=x -n=x
rsync => r* t moved +net -e=x --exclude=x --include=x --exclude-from=r --include-from=r --files-from=r --password-file=r
    -f=x
scp sftp => r* t +net -i=r -P=x -o=x -F=r -l=x +path:~/.ssh/**
gzip gunzip => w* ~.gz -S=x --suffix=x
bzip2 bunzip2 => w* ~.bz2
xz unxz lzma => w* ~.xz ~.lzma -T=x
zstd unzstd => w* ~.zst -o=w
lz4 compress uncompress => w* ~.lz4 ~.Z
gzip bzip2 xz zstd gunzip / -c --stdout -dc -cd -l -t => r*
zip => w r* -x=x -P=x
unzip => r x* cwd made -d=d -x=x -P=x
unzip / -l -p -t -Z => r x* -d=x
7z 7za => x w* cwd -o=w -p=x
cpio => x* -D=d -F=r -I=r -O=w cwd
curl => x* +net +path:~/.curlrc +path:~/.netrc -o=w --output=w -T=r -d=@ --data=@ --data-raw=x --data-binary=@ -H=x
    --header=x -X=x -u=x -A=x -e=x -b=x -c=w --cookie-jar=w -D=w --dump-header=w -K=r --config=r -F=@ -E=r --cert=r
    --key=r --cacert=r --capath=r -m=x --max-time=x --connect-timeout=x --retry=x --retry-delay=x --retry-max-time=x
    -w=x --write-out=x -x=x --proxy=x --resolve=x --unix-socket=r --output-dir=d -C=x -r=x -y=x -Y=x -z=x
    --request=x --user=x --url=x --netrc-file=r --user-agent=x --limit-rate=x --max-redirs=x --trace=w --stderr=w
    --data-urlencode=@ --form=@ --upload-file=r
curl / -O --remote-name -J --remote-name-all => x* +net fetch +path:~/.curlrc +path:~/.netrc
wget => x* +net +path:~/.wgetrc +path:~/.netrc fetch made -P=d --directory-prefix=d -o=w -a=w -i=r -U=x -t=x -T=x
    -w=x -e=x --header=x --user=x --password=x --timeout=x --tries=x --ca-certificate=r --post-data=x --post-file=r
    --user-agent=x
wget / -O --output-document => x* +net +path:~/.wgetrc +path:~/.netrc -O=w --output-document=w
wget / -r -m -x --recursive --mirror --content-disposition => x* +net +path:~/.wgetrc +path:~/.netrc cwd made
wget / --spider => x* +net
ping ping6 dig nslookup host traceroute nc ncat telnet => x* +net -c=x -W=x -i=x -w=x -p=x
ssh => x* +net +path:~/.ssh/** open -i=r -p=x -l=x -o=x -F=r
ssh-keygen => w* ~.pub -f=w -N=x -t=x -b=x -C=x -P=x -m=x made
ssh-keygen / -y -l -F -B => w* -f=r -F=x -l=f
ssh-keygen / -R -H => -R=x !path:~/.ssh/known_hosts
ssh-keyscan => x* +net -t=x -p=x -T=x -f=r
ssh-copy-id => x* +net open -i=r
git => cwd open +path:~/.gitconfig +git-config: +path:/etc/gitconfig -C=d -c=x
git / clone => x w clones +net +path:~/.gitconfig +git-config: +path:~/.ssh/** +path:~/.git-credentials +path:~/.netrc
    +path:/etc/gitconfig made -b=x --branch=x --depth=x -o=x -c=x --reference=r --template=r -j=x --origin=x
    --config=x
git / status log diff show rev-parse describe branch ls-files ls-tree cat-file remote rev-list symbolic-ref => x*
    here +path:~/.gitconfig +git-config: -n=x
git / tag for-each-ref grep blame shortlog name-rev merge-base check-ignore => x* here +path:~/.gitconfig
git / init => w clones made +path:~/.gitconfig +git-config: --template=r -b=x --initial-branch=x
git / ls-remote => x* +net here +path:~/.gitconfig +path:~/.ssh/** +path:~/.git-credentials +path:~/.netrc
git / fetch pull push checkout reset clean switch restore merge rebase submodule add commit stash apply am =>
    x* cwd +net +path:~/.gitconfig +git-config: +path:~/.ssh/** +path:~/.git-credentials +path:~/.netrc -m=x -b=x
    -B=x -n=x --depth=x --branch=x
git-config => x* cwd +path:~/.gitconfig
git-config / --global => x* !path:~/.gitconfig !git-config:
git-config / --system => x* !path:/etc/gitconfig
git-config / --get --list -l --get-all => x* here +path:~/.gitconfig +git-config: +path:/etc/gitconfig
svn hg => cwd open +net
make gmake ninja => g* cwd open -C=d -f=r --file=r --directory=d -j=f -I=r -l=x
cmake => r cwd open -S=r -B=w -G=x -D=x
cmake / --build --install => cwd open --build=w --install=r --prefix=w --target=x -j=x -t=x
gcc cc g++ c++ clang clang++ => r* cwd -o=w -I=r -L=r -l=f -D=x -include=r
ld ar ranlib strip => w* -o=w
go cargo rustc mvn gradle ant sbt => cwd open +net
npm yarn pnpm bower npx => cwd open +net +path:~/.npmrc +path:/etc/npmrc --prefix=w -C=d
npm / -g --global => open !npm +net +path:~/.npmrc
npm / list ls view config --version -v => here +path:~/.npmrc
pip pip2 pip3 => open !pip +net +path:/etc/pip.conf +path:~/.config/pip/** +path:~/.pip/** cwd -r=r --requirement=r
    -c=r --constraint=r -t=w --target=w --prefix=w --root=w -e=r -f=r --find-links=r -i=x --index-url=x
    --extra-index-url=x --log=w
pip pip2 pip3 / list freeze show check --version config => x* +pip
pip pip2 pip3 / install uninstall => r* !pip +net +path:/etc/pip.conf +path:~/.config/pip/** +path:~/.pip/**
    --trusted-host=x --timeout=x --retries=x
pip pip3 / download wheel => r* cwd +net +path:/etc/pip.conf -d=w -w=w --dest=w --wheel-dir=w
pip-compile poetry pipenv uv conda mamba => cwd open +net
virtualenv pyvenv => w made -p=r --python=r --prompt=x
gem bundle bundler => open !gem cwd +net
gem / list query which --version environment => x* +gem
gem / install uninstall update => r* !gem +net -v=x --version=x -i=w --install-dir=w -n=w --bindir=w -s=x --source=x
composer => cwd open +net -d=d --working-dir=d --install-dir=w --filename=x
cpan cpanm => open !cpan +net
systemctl => x* open
systemctl / start stop restart reload try-restart reload-or-restart kill =>
    daemon!* +systemd:units +path:/etc/systemd/system/** -s=x
systemctl / enable disable mask unmask reset-failed => service!* +systemd:units +path:/etc/systemd/system/**
systemctl / status is-active is-enabled is-failed show cat => service* +systemd:units
systemctl / list-units list-unit-files list-timers list-jobs is-system-running --version get-default => x*
    +systemd:units
systemctl / daemon-reload daemon-reexec => !systemd:units +path:/etc/systemd/system/** +path:/lib/systemd/system/**
    +path:/usr/lib/systemd/system/** +path:/run/systemd/system/**
systemctl / set-default isolate preset link edit set-property revert add-wants => x* !systemd:units
    !path:/etc/systemd/system
service invoke-rc.d rc-service => daemon! x*
chkconfig update-rc.d rc-update => x*
initctl / start stop restart reload => daemon!*
sv => x daemon!*
supervisorctl => x* open +service:supervisor
pidof => x*
useradd adduser usermod => account! x* !accounts +path:/etc/login.defs +path:/etc/default/useradd +path:/etc/skel/**
    -d=w --home-dir=w --home=w -m=f -s=r --shell=r -g=group --gid=group --ingroup=group -G=groups --groups=groups -u=x
    --uid=x -c=x --comment=x -p=x --password=x -k=r -e=x -f=x -l=x -K=x --gecos=x -L=f -U=f
adduser addgroup / -S -D -H => x* !accounts +path:/etc/skel/** -h=w -s=x -G=group -u=x -g=x
userdel deluser => account! x* !accounts -r=f
groupadd groupmod groupdel addgroup delgroup => group! !accounts -g=x --gid=x -n=x -o=f -K=x
gpasswd => x* !accounts -a=x -d=x -M=x -A=x
passwd chage chsh chfn => user! !accounts -s=x -m=x -M=x -d=x -E=x -I=x -W=x -f=x
chpasswd newusers vipw pwconv grpconv pwunconv => r* !accounts
newgrp sg => x* open
modprobe insmod rmmod => kmod!* +path:/lib/modules/** +path:/etc/modprobe.d/**
lsmod modinfo => x*
swapon swapoff => swap!* +path:/etc/fstab -p=x
mkswap => w* -L=x
fallocate => w* -l=x -o=x
mkfs mkfs.ext4 mkfs.ext3 mkfs.xfs mkfs.btrfs mkfs.vfat mke2fs tune2fs resize2fs fsck e2fsck => w* -t=x -L=x -m=x
    -b=x
blkid findmnt mountpoint => x*
losetup parted sgdisk fdisk pvcreate vgcreate lvcreate mdadm cryptsetup => x* open
apt-get apt aptitude => x* !pkgdb +net +path:/etc/apt/** -t=x -o=x -c=r -a=x
apt-get apt / download source => x* cwd +net +path:/etc/apt/** +pkgdb
apt-get apt aptitude / install reinstall upgrade dist-upgrade full-upgrade => x* !pkgdb !packages +net +path:/etc/apt/**
apt-get apt aptitude / remove purge autoremove autopurge => x* !pkgdb !packages
apt-cache dpkg-query apt-mark => x* +pkgdb -f=x -W=f
apt-mark / hold unhold auto manual => x* !pkgdb
apt-key => x r* !pkgdb !path:/etc/apt/trusted.gpg +net --keyring=w --keyserver=x
add-apt-repository apt-add-repository => x* !pkgdb !path:/etc/apt/sources.list !path:/etc/apt/sources.list.d/** +net
apt-config => x* +path:/etc/apt/**
dpkg => x* +pkgdb
dpkg / --configure --add-architecture --set-selections -a => r* !pkgdb
dpkg / -r --remove -P --purge => x* !pkgdb !packages
dpkg / -i --install --unpack => r* !pkgdb !packages
dpkg-reconfigure debconf-set-selections => r* !pkgdb -f=x -p=x
dpkg-divert dpkg-statoverride => x* open !pkgdb
dpkg-deb => r w cwd
yum dnf microdnf zypper => x* !pkgdb +net +path:/etc/yum.repos.d/** -c=r --installroot=w
yum dnf / list info search repolist provides check-update => x* !pkgdb +net +path:/etc/yum.repos.d/**
yum dnf microdnf zypper / install reinstall localinstall groupinstall update upgrade in => x* !pkgdb !packages +net
    +path:/etc/yum.repos.d/**
yum dnf microdnf zypper / remove erase autoremove rm => x* !pkgdb !packages
yum-config-manager => x* !pkgdb !path:/etc/yum.repos.d/** +net
rpm => x* +pkgdb
rpm / -e --erase => x* !pkgdb !packages
rpm / --import => r* !pkgdb +net
rpm / -i -U -F --install --upgrade --freshen => r* !pkgdb !packages +net
rpm / -q -qa -qi -ql --query -V --verify => x* +pkgdb
rpm2cpio => r*
apk pacman emerge snap flatpak brew => x* !pkgdb +net
apk / add upgrade del => x* !pkgdb !packages +net
pacman / -S -U -Syu -R -Rs -Rns => x* !pkgdb !packages +net
openssl => x* open -in=r -out=w -keyout=w -CA=r -CAkey=r -CAserial=w -config=r -extfile=r -inkey=r -certfile=r
    -key=r -signkey=r -subj=x -passout=x -passin=x -days=x -newkey=x -connect=x -extensions=x -CAfile=r
    -servername=x -pass=x -kfile=r -sign=r -verify=r -signature=r -cert=r -sha256=f -reqexts=x -addext=x
    -set_serial=x -name=x -rand=r -batch=f
openssl / version rand dhparam genrsa genpkey passwd => x* -algorithm=x -pkeyopt=x -salt=x
openssl / x509 req rsa pkcs12 pkcs8 ec ecparam pkey crl verify enc dgst ca s_client => x* -outform=x -inform=x
    -checkend=x -genkey=f -nodes=f -export=f -CApath=r -topk8=f
gpg gpg2 => r* !path:~/.gnupg/** -o=w --output=w --homedir=w -u=x -r=x --keyserver=x --recv-keys=x --passphrase=x
    --passphrase-file=r --keyring=w --no-default-keyring=f +net
keytool certtool => x* open -keystore=w -file=r
update-ca-certificates update-ca-trust => x* +path:/usr/local/share/ca-certificates/**
    +path:/etc/ca-certificates.conf +path:/usr/share/ca-certificates/** !path:/etc/ssl/certs/**
psql => x* open +service:postgresql !postgres +path:~/.pgpass -f=r -o=w -U=x -d=x -h=x -p=x -c=x -L=w -v=x -P=x
    --file=r --command=x --dbname=x --username=x
createdb dropdb createuser dropuser pg_restore pg_ctl pg_ctlcluster pg_createcluster pg_dropcluster => r* open
    +service:postgresql !postgres -U=x -h=x -p=x -O=x -E=x -T=x -d=x
pg_dump pg_dumpall => x* +service:postgresql +postgres -f=w -U=x -h=x -p=x -d=x --file=w
mysql mariadb mysqladmin mysqlimport => x* !mysql +service:mysql +path:~/.my.cnf +path:/etc/mysql/** -u=x -h=x -P=x
    -D=x -e=x -S=r --defaults-file=r --defaults-extra-file=r
mysqldump mariadb-dump => x* +mysql +service:mysql +path:~/.my.cnf +path:/etc/mysql/** -u=x -h=x -P=x -r=w
    --result-file=w -S=r --defaults-file=r
mongo mongosh redis-cli sqlite3 influx rabbitmqctl rabbitmq-plugins consul vault etcdctl kubectl helm => open
docker podman => open +service:docker --name=docker:container!
docker podman / pull tag rmi load import login logout => x* !docker:images +service:docker +net -i=r
docker podman / images ps inspect version info => x* +docker:images +service:docker -f=x
docker podman / stop rm pause unpause => docker:container!* +service:docker -t=x
docker podman / start restart kill => container!* +service:docker -t=x -s=x
docker-compose => cwd open +service:docker !docker:images -f=r --file=r
at batch => open -f=r
locale-gen => x* !locale:compiled +path:/etc/locale.gen +path:/usr/share/i18n
localedef => x* !locale:compiled -i=x -f=x -A=x
update-locale localectl => x* !path:/etc/default/locale !path:/etc/locale.conf +locale:compiled
update-grub update-grub2 grub-mkconfig grub2-mkconfig => x* +path:/etc/default/grub +path:/etc/grub.d/**
    !path:/boot/** -o=w
update-initramfs dracut mkinitcpio => x* +path:/etc/initramfs-tools/** +path:/etc/modules !path:/boot/** -k=x
update-mime-database update-desktop-database gtk-update-icon-cache fc-cache mandb updatedb => w*
update-exim4.conf newaliases => +path:/etc/aliases !path:/etc/aliases.db !path:/var/lib/exim4/**
postmap postalias => w* ~.db
ldconfig => r* +path:/etc/ld.so.conf +path:/etc/ld.so.conf.d/** !path:/etc/ld.so.cache -f=r -C=w
hostnamectl => x* !hostname !path:/etc/hostname !path:/etc/machine-info
timedatectl => x* !path:/etc/localtime !path:/etc/timezone !path:/etc/adjtime
hwclock ntpdate chronyc => x* +net !clock
a2ensite a2dissite => x* +path:/etc/apache2/sites-available/** !path:/etc/apache2/sites-enabled/**
a2enmod a2dismod => x* +path:/etc/apache2/mods-available/** !path:/etc/apache2/mods-enabled/**
a2enconf a2disconf => x* +path:/etc/apache2/conf-available/** !path:/etc/apache2/conf-enabled/**
apache2ctl apachectl httpd => x* +path:/etc/apache2/** +path:/etc/httpd/** !service:apache2 -f=r
apache2ctl apachectl httpd / -t configtest -S -M -v => x* +path:/etc/apache2/** +path:/etc/httpd/**
nginx => x* open
nginx / -t -T => +path:/etc/nginx/** -c=r
nginx / -s => x* +path:/etc/nginx/** !service:nginx -c=r -s=x
nginx / -v -V => x*
sshd / -t => +path:/etc/ssh/** -f=r
named-checkconf named-checkzone => r* +path:/etc/bind/**
haproxy / -c => -f=r
postconf => x* !path:/etc/postfix/main.cf
phpenmod phpdismod php5enmod php5dismod => x* !path:/etc/php/**
iptables ip6tables => x* !iptables
iptables ip6tables / -L -S -C => x* +iptables
iptables-save ip6tables-save => +iptables -f=w
iptables-restore ip6tables-restore => r* !iptables
nft ufw => x* !iptables +path:/etc/ufw/** -f=r
firewall-cmd => x* !iptables !path:/etc/firewalld/**
ip ifconfig route ethtool => x* !network
ss netstat => x* +network
ifup ifdown netplan nmcli => x* !network +path:/etc/network/** +path:/etc/netplan/**
restorecon => w*
chcon => x w*
setenforce getenforce setsebool semanage selinuxenabled sestatus => x* !selinux
augtool => x* !path:/etc/** -f=r
udevadm => x* +path:/etc/udev/** !udev
python python2 python3 perl ruby node nodejs php lua Rscript java => open script g*
python python2 python3 perl ruby node nodejs php java / --version -V -v -version => x* named
python python2 python3 / -c => x* open -c=x
perl ruby node php / -e -r => x* open -e=x -r=x
"""

_PREFIXES = r"""
sudo => +path:/etc/sudoers +path:/etc/sudoers.d/** -u=user -g=group -h=x -p=x -C=x -D=d -r=x -t=x
doas => +path:/etc/doas.conf -u=user -C=r
nohup setsid exec builtin catchsegv eatmydata => c
command => c
time => -o=w -f=x
nice => -n=x
ionice => -c=x -n=x -p=x
timeout => x c -s=x -k=x --signal=x --kill-after=x
stdbuf => -i=x -o=x -e=x
chroot => r c --userspec=x
flock => w c -w=x -E=x
runuser gosu su-exec setpriv => user c
xargs => c -n=x -I=x -P=x -L=x -d=x -a=r -s=x -E=x
unbuffer chronic dbus-run-session faketime => c
chpst => -u=user
setarch linux32 linux64 => c
strace => -o=w -e=x -f=f
env => c -u=x -C=d --chdir=d
"""


class Program(Value):
    """One use of a program: the effects of each operand and option, and the unconditional ones."""

    operands: tuple[str, ...] = ()
    options: dict[str, str] = {}  # noqa: RUF012 - never changed
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()
    suffixes: tuple[str, ...] = ()


class _Uses(Value):
    """The uses of one program: by subcommand or option, and the ordinary one."""

    ordinary: Program | None
    special: dict[str, Program]


def use_of(name: str, words: list[str]) -> tuple[Program | None, list[str]]:
    """Return the use of a program, by its first subcommand and its options (None if unknown), and its words.

    The words are without the subcommand.
    """
    uses = _known().get(name)
    if uses is None:
        return None, words
    if uses.special:
        values = uses.ordinary.options if uses.ordinary is not None else {}
        for place, word in enumerate(words):
            without = words if word[:1] == "-" else [*words[:place], *words[place + 1 :]]
            special = uses.special.get(word.partition("=")[0])
            if special is None and word[:1] == "-" and word[1:2] != "-":
                special = _by_letter(word[1:], uses.special, values)
            if special is not None:
                return special, without
            if f"{name}-{word}" in _known():
                return use_of(f"{name}-{word}", without)
    return uses.ordinary, words


def _by_letter(letters: str, special: dict[str, Program], values: dict[str, str]) -> Program | None:
    """Return the use for a cluster of flags such as ``-rf``. A flag with a value ends the cluster."""
    for letter in letters:
        option = f"-{letter}"
        if option in special:
            return special[option]
        if option in values:
            return None
    return None


@cache
def prefixes() -> dict[str, Program]:
    """Return the programs whose operands form another command."""
    return {name: _program(spec) for names, spec in _lines(_PREFIXES) for name in names.split()}


@cache
def _known() -> dict[str, _Uses]:
    known: dict[str, _Uses] = {}
    for names, spec in _lines(_TABLE):
        program = _program(spec)
        programs, _, words = names.partition(" / ")
        for name in programs.split():
            uses = known.get(name, _Uses(None, {}))
            if words:
                inherited = uses.ordinary.options if uses.ordinary is not None else {}
                use = program.replaced(options={**inherited, **program.options})
                uses.special.update(dict.fromkeys(words.split(), use))
                known[name] = uses
            else:
                known[name] = _Uses(program, uses.special)
    return known


def _lines(table: str) -> list[tuple[str, str]]:
    return [
        (names, spec)
        for names, _, spec in (line.partition(" => ") for line in table.replace("\n ", " ").splitlines() if line)
    ]


def _program(spec: str) -> Program:
    operands, options, marks, suffixes = [], {}, set(), []
    reads: list[str] = []
    writes: list[str] = []
    for word in spec.split():
        if word[0] == "-" and "=" in word:
            option, _, kind = word.rpartition("=")
            options[option] = kind
        elif word[0] in "+!":
            (reads if word[0] == "+" else writes).extend(_SETS.get(word[1:], (word[1:],)))
        elif word in _MARKS:
            marks.add(word)
        elif word[0] == "~":
            suffixes.append(word[1:])
        else:
            operands.append(word)
    return Program(tuple(operands), options, tuple(reads), tuple(writes), frozenset(marks), tuple(suffixes))
