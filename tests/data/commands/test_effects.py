"""Effects of command texts: known programs by the table, unknown ones by their form, and the open questions."""

import re
import shlex

from hypothesis import given
from hypothesis import strategies as st
from messages import said
from tables import beside, rows

from asyncstate.data.commands import Effects, effects_of, script_effects
from asyncstate.data.commands.operands import settings_of
from asyncstate.data.commands.programs import LOGIN, NETWORK

TABLES = beside(__file__)

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


KNOWN = TABLES["known"]


@rows("line", KNOWN.strip().splitlines())
def test_known_effects(line):
    text, *cells = (cell.strip() for cell in line.split(" =>"))
    reads, writes, makes = (names(cell) for cell in (*cells, "")[:3])
    assert touched(text) == (reads, writes, makes)
    assert effects_of(text, "/w").unknown == ""


@rows(
    ("text", "links"),
    TABLES["links are told"],
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
    ("text", "folder", "reason", "what"),
    TABLES["what stays open has a reason"],
)
def test_what_stays_open_has_a_reason(text, folder, reason, what):
    assert effects_of(text, folder).unknown == said(reason, what=what)


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


LINKS = {text: set(map(tuple, links)) for text, links in TABLES["links"].items()}


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


SCRIPTS = TABLES["scripts"]


@rows("text", SCRIPTS)
def test_what_a_script_touches(text):
    arguments, reads, writes, unknown = SCRIPTS[text]
    effects = script_effects(text, arguments, "/d")
    assert (set(effects.reads), set(effects.writes)) == (set(reads), set(writes))
    assert unknown in effects.unknown
    assert bool(unknown) == bool(effects.unknown)


@rows(
    ("text", "user", "read"),
    TABLES["what programs read that their words do not name"],
)
def test_what_programs_read_that_their_words_do_not_name(text, user, read):
    assert names(read) <= set(effects_of(text, "/w", user).reads)


@rows("text", ["mount -a", "kill -HUP 1", "docker restart web", "docker kill -s HUP web"])
def test_effects_that_cannot_be_named_are_unknown(text):
    assert effects_of(text, "/").unknown


def test_plain_shells_and_root_read_no_login_files():
    for text, user in (("bash -c true", ""), ("true", "root"), ("su bob -c true", ""), ("sudo true", "")):
        assert "path:/etc/profile" not in effects_of(text, "/w", user).reads
