"""Effects of command texts: known programs by the table, unknown ones by their form, and the open questions."""

import re
import shlex

from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from asyncstate.data.commands import Effects, effects_of, script_effects
from asyncstate.data.commands.operands import settings_of
from asyncstate.data.commands.programs import LOGIN, NETWORK

NOT_THEIRS = {
    *NETWORK,
    *(f"path:~/{name}" for name in (".curlrc", ".netrc", ".wgetrc")),
}


def touched(text, folder="/w", user="", env=()):
    """What is read, written and made, without what every program of its kind reads."""
    effects = effects_of(text, folder, user, env)
    by_name = {f"alternatives:{each.rpartition('/')[2]}" for each in effects.programs}
    by_name.update(*(settings_of(each, daemon=False) for each in effects.programs))
    by_name.update(re.sub("~[^/]*/", "~/", name) for name in LOGIN)
    by_name.update(["path:/etc/sudoers", "path:/etc/sudoers.d/**"] if "sudo" in effects.programs else ())
    reads = {
        name
        for name in effects.reads
        if re.sub("~[^/]*/", "~/", name) not in by_name
        and not name.startswith(("path:/usr/", "path:/etc/apt"))
        and name not in NOT_THEIRS
    }
    return reads, set(effects.writes), set(effects.makes)


def names(text):
    """Resources of a line: ``path:`` is left out."""
    return {name if ":" in name.split("/")[0] or name[0] not in "/~" else f"path:{name}" for name in text.split()}


KNOWN = """
echo x > out                           =>                        => /w/out
cp out inst                            => /w/out/**              => /w/inst
cp -r /a /b/                           => /a/**                  => /b/a
cp /a /b /c                            => /a/** /b/**            => /c/a /c/b
cp /s/*.conf /d/                       => /s/**                  => /d/**
cp -t /d a                             => /w/a/**                => /d/a
cp --target-directory=/d a             => /w/a/**                => /d/a
cp a /etc                              => /w/a/**                => /etc/a
mv /a /b                               =>                        => /a /b
ln -sf ../v1 /srv/current              => /v1/**                 => /srv/current
ln -s /srv/x                           => /srv/x/**              => /w/x
install -m 644 -o root a /b            => /w/a/** user:root      => /b
rm -rf /a b                            =>                        => /a /w/b
touch -r /a b                          => /a/**                  => /w/b
mkdir a                                =>                        => /w/a
mkdir -p /a/b/c                        =>                        =>  => /a/b/c
install -d /a/b                        =>                        =>  => /a/b
install -D a /x/y/z                    => /w/a/**                => /x/y/z => /x/y
chmod -R 755 /a                        =>                        => /a
chown www:web /a                       => user:www group:web accounts /etc/passwd /etc/shadow /etc/group /etc/gshadow => /a
tar xzf /a.tgz -C /srv                 => /a.tgz/** /srv         => /srv/**
tar -C /srv -xf a.tgz                  => /w/a.tgz/** /srv       => /srv/**
tar --extract --file=/a.tar            => /a.tar/**              => /w/**
tar -czf /b.tgz -C /srv app            => /srv /srv/app/**       => /b.tgz
tar tf /a                              => /a/**                  =>
unzip -o /x.zip -d /y                  => /x.zip/**              => /y/** => /y
gzip -c /a > /b                        => /a/**                  => /b
curl -fsSLo /b https://h/x             =>                        => /b
curl -o/b https://h/x                  =>                        => /b
curl --output=/b https://h/x           =>                        => /b
curl -O https://h/x.tgz                =>                        => /w/x.tgz
curl -d @/a http://h                   => /a/**                  =>
curl --create-dirs -o /d/e/f http://h  =>                        => /d/e/f => /d/e
curl -XPOST http://h                   =>                        =>
curl file:///a                         => /a/**                  =>
wget http://h/x.tgz                    =>                        => /w/x.tgz
wget -qO- http://h                     =>                        =>
wget -O /x http://h                    =>                        => /x
wget -P /d http://h/x                  =>                        => /d/x => /d
sed 's/a/b/' /a                        => /a/**                  =>
sed -n -e p -f /s /a                   => /s/** /a/**            =>
sed -i 's/a/b/' /a b                   =>                        => /a /w/b
sed -i.bak s/a/b/ /a                   =>                        => /a /a.bak
sed -ri s/a/b/ /a                      =>                        => /a
cat /a | tee -a /b                     => /a/**                  => /b
grep -q x /a                           => /a/**                  =>
grep -rn x                             => /w/**                  =>
grep -f /p /a                          => /p/** /a/**            =>
awk '{print $1}' /a                    => /a/**                  =>
diff /a /b                             => /a/** /b/**            =>
sort -o /b /a                          => /a/**                  => /b
dd if=/dev/zero of=/swap bs=1M         =>                        => /swap
update-alternatives --install /b n /p 1 => /p/** pkgdb           => alternatives:n /b /etc/alternatives/n
alternatives --install b n /p 1        => /p/** pkgdb            => alternatives:n /w/b /etc/alternatives/n
update-alternatives --install /b n /p 1 --slave /c m /q => /p/** /q/** pkgdb => alternatives:n /b /etc/alternatives/n alternatives:m /c /etc/alternatives/m
update-alternatives --set n /p         => pkgdb                  => alternatives:n /etc/alternatives/**
update-alternatives --quiet --auto n   => pkgdb                  => alternatives:n /etc/alternatives/**
update-alternatives --display n        => pkgdb alternatives:n /etc/alternatives/** =>
update-alternatives --install /b       => pkgdb                  => /b /etc/alternatives/**
find /a -name '*.pyc' -delete          =>                        => /a/**
find /a -type f -exec chmod 644 {} \\; =>                        => /a/**
find . -name x                         => /w/**                  =>
test -f /a -a ! -d b                   => /a/** /w/b/**          =>
[ /a -nt /b ]                          => /a/** /b/**            =>
[[ -e /a && $X =~ (a|b) ]]             => /a/**                  =>
dpkg -s nginx                          => pkgdb                  =>
dpkg -i /x.deb                         => /x.deb/**              => pkgdb packages
dpkg -l | grep x                       => pkgdb                  =>
rpm -qi x                              => pkgdb                  =>
rpm -ivh /x.rpm                        => /x.rpm/**              => pkgdb packages
apt-get install -y nginx               =>                        => pkgdb packages
apt-get -y purge nginx                 =>                        => pkgdb packages
dpkg -r nginx                          =>                        => pkgdb packages
rpm -e nginx                           =>                        => pkgdb packages
systemctl restart nginx.service        => systemd:units /etc/systemd/system/** /etc/nginx/** /etc/nginx.conf /etc/nginx.d/** /etc/default/nginx /etc/sysconfig/nginx => service:nginx processes#nginx
systemctl is-active nginx              => systemd:units service:nginx =>
service nginx reload                   => /etc/nginx/** /etc/nginx.conf /etc/nginx.d/** /etc/default/nginx /etc/sysconfig/nginx => service:nginx processes#nginx
userdel -r u                           =>                        => user:u ~u accounts /etc/passwd /etc/shadow /etc/group /etc/gshadow
id u                                   => accounts /etc/passwd /etc/shadow /etc/group /etc/gshadow =>
sysctl -w net.ipv4.ip_forward=1        =>                        => sysctl:net.ipv4.ip_forward
sysctl net/ipv4/ip_forward             => sysctl:net.ipv4.ip_forward =>
echo 1 > /proc/sys/net/ipv4/ip_forward =>                        => sysctl:net.ipv4.ip_forward
modprobe br_netfilter                  => /lib/modules/** /etc/modprobe.d/** => kmod:br_netfilter
crontab -u bob /t                      => user:bob /t/**         => cron:bob
visudo -c                              => /etc/sudoers/** /etc/sudoers.d/** =>
visudo -cf /etc/sudoers.d/a            => /etc/sudoers.d/a/**      =>
visudo -c --file=/srv/sudoers          => /srv/sudoers/** /etc/sudoers/** /etc/sudoers.d/** =>
crontab -l                             => user:root cron:root    =>
sed -i.bak -e p /a                     =>                        => /a /a.bak
gzip /a                                =>                        => /a /a.gz
gunzip /a.gz                           =>                        => /a /a.gz /a.gz.gz
ssh-keygen -q -N '' -f /k/id           =>                        => /k/id /k/id.pub => /k
patch -p1 < /p                         => /p/**                  => /w/**
usermod -aG docker u                   => /etc/login.defs /etc/default/useradd /etc/skel/** group:docker => user:u ~u accounts /etc/passwd /etc/shadow /etc/group /etc/gshadow
mount -o loop /x.iso /mnt/x            => /etc/fstab/** /x.iso/** => /mnt/x/** mount:/mnt/x
git init /r                            => ~/.gitconfig git-config: => /r => /
git clone http://h/r                   => ~/.gitconfig git-config: ~/.ssh/** ~/.git-credentials /etc/gitconfig => /w/**
wget -r http://h/x                     =>                        => /w/**
curl -OJ http://h/x                    =>                        => /w/**
docker stop web                        => service:docker         => docker:container:web
/etc/init.d/foo restart                => /etc/init.d/foo /etc/foo/** /etc/foo.conf /etc/foo.d/** /etc/default/foo /etc/sysconfig/foo => service:foo processes#foo
ls                                     => /w/**                  =>
git -C /r pull                         => /r ~/.gitconfig git-config: ~/.ssh/** ~/.git-credentials => /r/**
git clone http://h/r /r                => ~/.gitconfig git-config: ~/.ssh/** ~/.git-credentials /etc/gitconfig => /r => /
git config --global a.b c              =>                        => ~/.gitconfig git-config:
git -C /r rev-parse HEAD               => /r /r/** ~/.gitconfig git-config: =>
/v/bin/pip install -r /r.txt           => /v/bin/pip /r.txt/** => /v/**
split -b 1M /d/big /d/part.            => /d/big/**              => /d/** /w/**
split big                              => /w/big/**              => /w/**
csplit -f /d/x- /l 10                  => /l/**                  => /d/** /w/**
dpkg-deb -x /a.deb /srv/x              => /a.deb/**              => /srv/x /w/**
7z x /a.7z -o/srv/x                    =>                        => /a.7z /srv/x /w/**
pkill -HUP -x php7.4-fpm               => /etc/php/** /etc/php.conf /etc/php.d/** /etc/default/php /etc/sysconfig/php => service:php7.4-fpm processes#php7.4-fpm
kill -HUP $(cat /run/rsyslogd.pid)     => /run/rsyslogd.pid/** /etc/rsyslogd/** /etc/rsyslogd.conf /etc/rsyslogd.d/** /etc/default/rsyslogd /etc/sysconfig/rsyslogd /etc/rsyslog/** /etc/rsyslog.conf /etc/rsyslog.d/** /etc/default/rsyslog /etc/sysconfig/rsyslog => service:rsyslogd processes#rsyslogd
kill $!                                =>                        =>
openssl req -x509 -keyout /k -out /c -subj /CN=x =>                        => /k /c
echo a > /dev/null 2>&1                =>                        =>
echo a > /dev/shm/x                    =>                        => /dev/shm/x
cat /proc/cpuinfo                      =>                        =>
cd /srv && touch x                     => /srv                   => /srv/x
cd /srv; (cd a; touch y); touch x      => /srv /srv/a            => /srv/a/y /srv/x
cd a/.. && touch x                     => /w                     => /w/x
if a=1; then cd /b; fi; touch x        => /b                     => /w/x /b/x
test -d /b || cd /c; touch x           => /b/** /c               => /w/x /c/x
X=/a; touch $X/b ${X}c "$X"            =>                        => /a/b /ac /a
for i in a b; do rm /x/$i; done        =>                        => /x/a /x/b
for i in /x/*; do rm $i; done          =>                        => /x/**
case $X in a) rm /a ;; *) rm /b;; esac =>                        => /a /b
bash -ec "touch /a"                    =>                        => /a
sudo -u bob touch ~/a                  => user:bob               => ~/a
sudo -u bob sh -c 'touch ~/a'          => user:bob               => ~bob/a
su - bob -c 'touch a'                  => user:bob               => ~bob/a
env -i A=b touch /a                    =>                        => /a
nohup nice -n 5 timeout -k 5 60 rm /a  =>                        => /a
eval 'touch /a'                        =>                        => /a
echo $(cat /a) `cat /b`                => /a/** /b/**            =>
cat <(cat /a)                          => /a/**                  =>
cat < /a >> /b                         => /a/**                  => /b
cat /a &> /b                           => /a/**                  => /b
cat 3< /a 2> /b                        => /a/**                  => /b
touch {a,b/{c,d}}                      =>                        => /w/a /w/b/c /w/b/d
touch /r/x{1..9}                       =>                        => /r/**
cat /r/part* /r/x?y/z                  => /r/**                  =>
cat a[1] a:b                           => /w/** /w/a:b/**        =>
cat part$N /r/$N/x                     => /w/** /r/**            =>
cat ~/x $HOME/y ~bob/z                 => ~/x/** ~/y/** ~bob/z/** =>
cat file:///a                          => /a/**                  =>
touch /a # /b                          =>                        => /a
exit 0                                 =>                        =>
((i++)); touch /a                      =>                        => /a
a=(/x /y); touch /a                    =>                        => /a
. /etc/os-release; touch /a            => /etc/os-release/**     => /a
crontab -r                             => user:root              => cron:root
"""


@rows("line", KNOWN.strip().splitlines())
def test_known_effects(line):
    text, *cells = (cell.strip() for cell in line.split(" =>"))
    reads, writes, makes = (names(cell) for cell in (*cells, "")[:3])
    assert touched(text) == (reads, writes, makes)
    assert effects_of(text, "/w").unknown == ""


@rows(
    ("text", "links"),
    [
        ("ln -sfn ../v2 /srv/current", (("/srv/current", "../v2"),)),
        ("ln -s /a", (("/w/./a", "/a"),)),
        ("ln a b", (("/w/b", "/w/a"),)),
        ("ln -s /a/* /b", ()),
        ("ln -s $X /b", ()),
        ("cp /a /b", ()),
    ],
)
def test_links_are_told(text, links):
    assert effects_of(text, "/w").links == tuple((path.replace("/./", "/"), target) for path, target in links)


def test_words_with_blanks():
    assert touched("touch 'a b' \"c d\" e\\ f $'g h'")[1] == {
        f"path:/w/{name}" for name in ("a b", "c d", "e f", "g h")
    }


def test_here_documents_are_text_unless_a_shell_reads_them():
    assert touched("cat > /a <<EOF\nrm /b\n$(cat /c)\nEOF\ntouch /d\n") == (
        {"path:/c/**"},
        {"path:/a", "path:/d"},
        set(),
    )
    assert touched("cat > /a <<'EOF'\n$(cat /c)\nEOF\n")[0] == set()
    assert touched("sh <<-EOF\n\trm /b\n\tEOF\n")[1] == {"path:/b"}


@rows(
    ("text", "writes"),
    [
        ("tool /a", {"/a"}),
        ("tool --out=/a -o/b c:/d", {"/a", "/b", "/d", "/w/c:/d"}),
        ("tool -v /a:/b", {"/a", "/b", "/a:/b"}),
        ("tool ../a ./b", {"/a", "/w/b"}),
        ("tool http://h/x /a", {"/a"}),
        ("A=/b tool /a", {"/a", "/b"}),
        ("make DESTDIR=/x", {"/w/DESTDIR=/x", "/x"}),
        ("docker run -v /a:/b x", {"/a", "/b", "/a:/b"}),
    ],
)
def test_an_unknown_program_writes_what_it_names_and_where_it_is(text, writes):
    assert touched(text)[1] == {"path:/w/**", *(f"path:{name}" for name in writes)}
    assert effects_of(text, "/w").unknown == ""


@rows(
    ("text", "folder", "reason"),
    [
        ("tool", "", "it names nothing that tool touches"),
        ("tool x", "/w", "nothing but the folder is known of what tool touches"),
        ("make", "/w", "nothing but the folder is known of what make touches"),
        ("rm $X", "/w", "it uses $X, which only a run knows"),
        ("rm /$X", "/w", "it uses $X, which only a run knows"),
        ("rm ${X%/}", "/w", "it uses $X, which only a run knows"),
        ("rm `which x`", "/w", "it uses the output of a command, which only a run knows"),
        ("$X /a", "/w", "it uses $X, which only a run knows"),
        ("ls | xargs rm", "/w", "it uses names from its input, which only a run knows"),
        (
            "cd $X && touch a",
            "/w",
            "it uses $X, which only a run knows; it names files in a folder that only a run knows",
        ),
        ("sh /x.sh /a", "/w", "it runs the script /x.sh, and what that does is not known"),
        ("python3 /x.py", "/w", "it runs the script /x.py, and what that does is not known"),
        (". /x.sh", "/w", "it runs the script /x.sh, and what that does is not known"),
        ("curl http://h | sh", "/w", "it runs a script that another command prints"),
        ("echo 'x", "/w", "its text is no shell script that can be read: a quote (') does not end"),
        ("read X; rm $X", "/w", "it uses $X, which only a run knows"),
    ],
)
def test_what_stays_open_has_a_reason(text, folder, reason):
    assert effects_of(text, folder).unknown == reason


def test_variables_of_the_state():
    assert touched("touch $X", env=(("X", "/a"),)) == (
        {"path:/a/**"} - {"path:/a/**"} | {"path:/a/**"},
        {"path:/a"},
        set(),
    )
    assert touched("tool", env=(("X", "/a"),))[1] == {"path:/a", "path:/w/**"}
    assert effects_of("rm $X", "/w", "", (("X", "/a"),)).unknown == ""


def test_the_login_folder_is_where_commands_start():
    assert touched("touch a", "") == (set(), {"path:~/a"}, set())
    assert touched("touch a", "", "bob") == (set(), {"path:~bob/a"}, set())


PATHS = st.text(st.characters(codec="utf-8", exclude_characters="\0/#"), min_size=1, max_size=12).filter(
    lambda name: name not in {".", ".."} and not any("\ufdd0" <= each <= "\ufdef" for each in name)
)


def in_single(path):
    return "'" + path.replace("'", "'\\''") + "'"


def in_double(path):
    return '"' + "".join(f"\\{each}" if each in '"\\$`' else each for each in path) + '"'


def escaped(path):
    return "".join(
        f"\\{each}" if not each.isalnum() and each not in "/\n" else f'"{each}"' if each == "\n" else each
        for each in path
    )


@given(PATHS, PATHS)
def test_any_legal_quoting_gives_the_same_effects(folder, name):
    path = f"/{folder}/{name}"
    expected = Effects((), (f"path:{path}",), programs=("rm",))
    for quoted in (
        in_single(path),
        in_double(path),
        escaped(path),
        shlex.quote(path),
        f"/{in_double(folder)}/{in_single(name)}",
    ):
        assert effects_of(f"rm -f {quoted}", "/w") == expected


WORDS = st.sampled_from(
    """cp mv rm tar cd sh -c 'rm /a' "x y" $X ${Y:-/b} $(cat /z) `ls` /a /b/c d > >> < 2>&1 &> <<EOF EOF | || && ; & ( )
    { } if then fi for in do done case esac ;; * ? [a] {a,b} ~ ~x \\ ' " # = A=/b export eval . find -exec {} \\; xargs sudo
    [[ ]] (( )) $(( )) <( -o -C --x=/y function f() ! \n""".split(" ")
)


@given(st.lists(WORDS, max_size=14).map(" ".join) | st.text(max_size=40))
def test_no_text_raises_and_every_name_is_a_resource(text):
    effects = effects_of(text, "/w")
    for name in (*effects.reads, *effects.writes, *effects.makes):
        kind, _, rest = name.partition(":")
        assert kind in {"pkgdb", "accounts", "pip", "npm", "gem"} or rest or name == "git-config:"
        assert not any("\ufdd0" <= each <= "\ufdef" for each in name)
    assert not any("\ufdd0" <= each <= "\ufdef" for each in effects.unknown)


SIMPLE = st.sampled_from(["/a", "/b/c", "d", "e/f"])


@given(
    st.lists(st.tuples(st.sampled_from(["rm", "touch", "cat", "tool"]), SIMPLE), min_size=1, max_size=5),
    st.sampled_from([" ; ", " && ", " || ", "\n", " | "]),
)
def test_a_script_touches_all_that_its_commands_touch(commands, operator):
    whole = effects_of(operator.join(" ".join(each) for each in commands), "/w")
    for each in commands:
        part = effects_of(" ".join(each), "/w")
        assert set(part.writes) <= set(whole.writes)
        assert set(part.reads) <= {*whole.reads, *whole.writes}


@rows(
    "text",
    ["(" * 5000, "$(" * 3000, "{" * 5000, "{a,b}" * 200, "sh -c " * 500, "`" * 4001, "x" * 200_000, "sh -c '" * 50],
)
def test_long_texts_are_read_in_time(text):
    assert isinstance(effects_of(text, "/w"), Effects)


LINKS = {
    "ln -s v1 current": {("/d/current", "v1")},
    "update-alternatives --install /b n /p 1": {("/b", "/etc/alternatives/n"), ("/etc/alternatives/n", "/p")},
    "update-alternatives --install b n ~/p 1": {("/d/b", "/etc/alternatives/n"), ("/etc/alternatives/n", "~/p")},
    "update-alternatives --install /b n $P 1": {("/b", "/etc/alternatives/n")},
    "ln -sfn /opt/v1 /srv/current": {("/srv/current", "/opt/v1")},
    "ln --symbolic --force v1 ./current": {("/d/current", "v1")},
    "ln -s ../a /srv/b/": {("/srv/b/a", "../a")},
    "ln -st /srv/b /x/a c": {("/srv/b/a", "/x/a"), ("/srv/b/c", "c")},
    "ln -s /x/a": {("/d/a", "/x/a")},
    "ln a b": {("/d/b", "/d/a")},
    "ln -sr a /srv/b": {("/srv/b", "/d/a")},
    "link a b": {("/d/b", "/d/a")},
    "ln -s ~/a b": {("/d/b", "~/a")},
    "cd /e && ln -s v1 current; ln -sfn v2 current": {("/e/current", "v1"), ("/e/current", "v2")},
    "ln -s $X current": set(),
    "ln -s v1 $X": set(),
    "ln -s 'a b' c": {("/d/c", "a b")},
    "ln": set(),
    "mount --bind a /m": {("/m", "a")},
    "mount -o ro,bind /a /m": {("/m", "/a")},
    "mount -o bind,ro /a m": {("/d/m", "/a")},
    "mount --rbind /a /m": {("/m", "/a")},
    "mount /dev/sda1 /m": set(),
    "mount -t ext4 -o noatime /dev/bind /m": set(),
    "update-alternatives --install /usr/bin/vi vi /opt/vim 10 --slave /usr/bin/ex ex /opt/ex": {
        *(("/usr/bin/vi", "/etc/alternatives/vi"), ("/etc/alternatives/vi", "/opt/vim")),
        *(("/usr/bin/ex", "/etc/alternatives/ex"), ("/etc/alternatives/ex", "/opt/ex")),
    },
    "update-alternatives --set vi /opt/vim": {("/etc/alternatives/vi", "/opt/vim")},
    "update-alternatives --auto vi": set(),
    "cp a b": set(),
}


@rows("text", LINKS)
def test_links_that_a_command_makes(text):
    assert set(effects_of(text, "/d").links) == LINKS[text]


@rows(
    ("text", "copies"),
    [
        ("mv a b", {("/d/b", "/d/a")}),
        ("mv -t /srv a b", {("/srv/a", "/d/a"), ("/srv/b", "/d/b")}),
        ("cp -a /x/a /srv/", {("/srv/a", "/x/a")}),
        ("cp --recursive /x /y", {("/y", "/x")}),
        ("cp a b", set()),
        ("cp -f a b", set()),
        ("rsync -av /x/ /y", {("/y", "/x")}),
        ("mv $X b", set()),
        ("mv /x/* /y", set()),
    ],
)
def test_what_is_copied_with_its_links(text, copies):
    assert set(effects_of(text, "/d").copies) == copies


def test_a_folder_with_a_mode_of_its_own_is_written():
    for text in ("mkdir -p -m 700 /a/b", "mkdir -pm700 /a/b", "install -d -o www /a/b", "install -d --mode=0700 /a/b"):
        effects = effects_of(text, "/d")
        assert (effects.writes, effects.makes) == (("path:/a/b",), ("path:/a",)), text


@rows(
    ("text", "programs"),
    {
        "echo a > /x": ("echo",),
        "test -f /x && sudo -u www /usr/bin/curl -o /y https://h/": ("test", "sudo", "curl"),
        "sh -c 'cp /a /b | /opt/t/bin/t'": ("sh", "cp", "/opt/t/bin/t"),
        "find /a -exec rm {} \\;": ("find", "rm"),
        "{ true; }; f() { cp /a /b; }; f": ("true", "cp"),
        "cd /x": (),
        "/etc/init.d/d restart": ("/etc/init.d/d",),
    }.items(),
)
def test_the_programs_of_a_command_are_named(text, programs):
    assert set(effects_of(text).programs) == set(programs)


SCRIPTS = {
    "#!/bin/sh\necho a > /srv/out": ("", (), ("path:/srv/out",), ""),
    "echo a > out": ("", (), ("path:/d/out",), ""),
    '#!/bin/bash -e\nset -euo pipefail\n. /etc/os-release\n: > "$1"': ("'/a b'", ("path:/etc/os-release/**", "path:/a b/**"), ("path:/a b",), ""),
    "#!/usr/bin/env sh\ncat < ${1}/x > $2": ("/a /b", ("path:/a/x/**", "path:/a/**", "path:/b/**"), ("path:/b",), ""),
    "#!/usr/bin/env python3\nprint()": ("", (), (), "python3 runs it, not a shell"),
    "#!/usr/bin/fish\ntrue": ("", (), (), "fish runs it, not a shell"),
    "#!": ("", (), (), "an unnamed program runs it, not a shell"),
    "\x7fELF\0": ("", (), (), "there is no text that a shell reads"),
    "f() { : > $1; }\nf /a": ("/b", (), ("path:/b",), "it uses $1, which only a run knows"),
    "shift; : > $1": ("/b", (), ("path:/b",), "it uses $1, which only a run knows"),
    "set -- $X; : > $1": ("/b", (), ("path:/b",), "it uses $1, which only a run knows"),
    ": > $1": ("'a", (), (), "it uses $1, which only a run knows"),
    "{ echo a > /x; }; { echo b; } > /y": ("", (), ("path:/x", "path:/y"), ""),
}  # fmt: skip


@rows("text", SCRIPTS)
def test_what_a_script_touches(text):
    arguments, reads, writes, unknown = SCRIPTS[text]
    effects = script_effects(text, arguments, "/d")
    assert (set(effects.reads), set(effects.writes), effects.unknown) == (set(reads), set(writes), unknown)


@rows(
    ("text", "user", "read"),
    [
        ("bash -lc true", "", "/etc/profile.d/** ~/.bashrc"),
        ("bash --login -c true", "", "/etc/profile ~/.profile"),
        ("su - bob -c true", "", "/etc/profile.d/** ~bob/.profile"),
        ("sudo -i -u bob true", "", "/etc/profile.d/** ~bob/.profile /etc/sudoers /etc/sudoers.d/**"),
        ("sudo -iu bob true", "", "user:bob /etc/profile.d/** ~bob/.profile"),
        ("true", "bob", "/etc/profile.d/** ~bob/.bashrc"),
        ("getent hosts h", "", "/etc/hosts /etc/resolv.conf /etc/nsswitch.conf"),
        ("sudo true", "", "/etc/sudoers /etc/sudoers.d/**"),
        ("java -version", "", "alternatives:java"),
        ("java -jar /x.jar", "", "alternatives:java"),
        ("kubectl apply -f /x", "", "~/.kube/**"),
        ("aws s3 ls", "", "~/.aws/**"),
        ("mvn install", "", "~/.m2/** /etc/maven/**"),
        (
            "some-tool run",
            "",
            "~/.some-tool/** ~/.some-toolrc ~/.config/some-tool/** /etc/some-tool/** /etc/some-tool.conf",
        ),
    ],
)
def test_what_programs_read_that_their_words_do_not_name(text, user, read):
    assert names(read) <= set(effects_of(text, "/w", user).reads)


@rows("text", ["mount -a", "kill -HUP 1", "docker restart web", "docker kill -s HUP web"])
def test_effects_that_cannot_be_named_are_unknown(text):
    assert effects_of(text, "/").unknown


def test_plain_shells_and_root_read_no_login_files():
    for text, user in (("bash -c true", ""), ("true", "root"), ("su bob -c true", ""), ("sudo true", "")):
        assert "path:/etc/profile" not in effects_of(text, "/w", user).reads
