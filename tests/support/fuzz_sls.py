"""Hypothesis strategies for SLS files: mostly valid texts in YAML and Jinja, and ways to spoil them."""

from __future__ import annotations

from hypothesis import strategies as st

IDS = ("a", "b", "c d", "é", "1", "true", "/x", "a*", "a:b")
SLS = ("main", "other", "web", "web.sub")
KINDS = (
    "require",
    "watch",
    "onchanges",
    "onfail",
    "prereq",
    "listen",
    "use",
    "require_any",
    "onfail_all",
    "require_in",
    "watch_in",
    "prereq_in",
    "listen_in",
    "use_in",
    "onfail_in",
    "requires",
)
FUNCTIONS = (
    "test.nop",
    "test.succeed_with_changes",
    "test.fail_without_changes",
    "test.configurable_test_state",
    "test.show_notification",
    "test.nope",
    "test",
    "cmd.run",
    "cmd.script",
    "file.managed",
    "file.directory",
    "file.recurse",
    "file.line",
    "file.replace",
    "file.serialize",
    "module.run",
    "environ.setenv",
    "odd.here",
    "no.such",
    "a.b.c",
    ".",
    "test.",
)
ODD = (
    "",
    "~",
    "null",
    "yes",
    "0x1F",
    "0o8",
    "08",
    "1_000",
    "1:2:3",
    "1e400",
    "-.inf",
    ".nan",
    "-0",
    "9" * 30,
    "9" * 5000,
    "2024-01-01",
    "2024-13-45 99:99:99",
    "!!python/object/apply:os.system [echo x]",
    "!!python/name:os.system",
    "!!binary aGk=",
    "!!binary ä",
    "!!set {a, b}",
    "!!omap [a: 1, b]",
    "!!pairs [a: 1, a: 2]",
    "!!int x",
    "!!float []",
    "!!timestamp 2024-01-01",
    "!!str",
    "!",
    "!<tag:yaml.org,2002:int> 7",
    "!x {}",
    "&a x",
    "&a {a: 1}",
    "&a [*a]",
    "*a",
    "*nope",
    "{<<: *a}",
    "{<<: [*a, *a], b: 1}",
    "{<<: 1}",
    "<<",
    "=",
    "@x",
    "`x`",
    "%x",
    "? a",
    "? [a]\n: b",
    "{a: {b: {c: d}}}",
    "{[a]: b}",
    "{{a: b}: c}",
    "{a: 1, a: 2}",
    "{1: a, '1': b, true: c}",
    "[1, 2",
    "{a",
    "'a",
    '"a',
    '"\\ud800"',
    '"\\x00"',
    '"\\u202e"',
    "'\\0'",
    "|\n  x",
    ">-\n x\n  y",
    "\t",
    "\u2028",
    "\u202e",
    "\udcff",
    "\udcc3\udc28",
    "\ufeff",
    "\x00",
    "\x07",
    "\x85",
    "\U0001f600",
    "a: b",
    "- -",
    "- - - - a",
    "[" * 60 + "]" * 60,
    "[" * 300 + "]" * 300,
    "---",
    "...",
    "# x",
    "a\n\nb",
    "x" * 5000,
    "__slot__:salt:test.echo(a)",
    "__slot__:salt:no.such(",
    "__slot__:salt:test.echo(__slot__:salt:test.echo(1))",
    "salt://main.sls",
    "salt://../x",
    "salt://\udcff",
    "{{ x }}",
    "{% raw %}",
    "{#",
    "True",
    "-1",
    "last",
    "[]",
    "{}",
    "[[[]]]",
    "[null]",
    "[{}]",
    "{a: null}",
    "{null: a}",
)
_NAMES = ("name", "names", "order", "a", "comment", "result", "changes", "retry", "unless", "onlyif", "check_cmd")
_NAMES += ("failhard", "aggregate", "parallel", "timeout", "lane", "lanes", "exclusive", "footprint", "umask")
_NAMES += (
    "fire_event",
    "reload_modules",
    "reload_grains",
    "reload_pillar",
    "no_log",
    "saltenv",
    "creates",
    "cwd",
    "env",
)
_NAMES += (
    "state",
    "fun",
    "__id__",
    "__sls__",
    "__env__",
    "__pub_x",
    "source",
    "contents",
    "contents_pillar",
    "template",
)
_NAMES += (
    "context",
    "defaults",
    "mode",
    "user",
    "group",
    "makedirs",
    "pattern",
    "repl",
    "text",
    "skip_verify",
    "runas",
)
_NAMES += ("onfail_stop", "watch_in", "order", "sls", "id", "test", "prefetch", "warnings", "source_hash", "dataset")
_GOOD = {
    "name": ("x", "/nowhere/x", "'true'"),
    "names": ("[x, y]", "[x, {y: [{order: 3}]}]", "[x, x]"),
    "order": ("1", "last", "-1", "first", "5.5"),
    "retry": ("{attempts: 2, interval: 0}", "true", "{until: true, attempts: 1, splay: 0}"),
    "unless": ("'true'", "['false', 'true']", "[{fun: test.false}]"),
    "onlyif": ("'true'", "[{fun: test.true}]"),
    "check_cmd": ("'true'", "['false']"),
    "lanes": ("[x, y]", "x"),
    "footprint": ("{reads: ['path:/a'], writes: ['path:/b/**']}",),
    "aggregate": ("true", "false"),
    "timeout": ("1", "0.5"),
    "source": ("salt://main.sls", "salt://gone", "[salt://gone, salt://other.sls]"),
    "contents_pillar": ("a:b", "a"),
    "template": ("jinja", "mako", "py"),
    "creates": ("/", "[/x, /y]"),
}

odd_scalars = st.sampled_from(ODD)
_small_text = st.text(st.characters(codec="utf-8"), max_size=12)


@st.composite
def values(draw, name=""):
    """The YAML of one argument: a good one for its name, a plain one, or an odd one."""
    kind = draw(st.integers(0, 15))
    if kind < 11 and name in _GOOD:
        return draw(st.sampled_from(_GOOD[name]))
    if kind < 15:
        return draw(st.sampled_from(("x", "1", "true", "[x, y]", "{x: y}", "'a b'")))
    return draw(odd_scalars)


@st.composite
def references(draw, ids=IDS):
    """The YAML of a requisite's members."""
    kind = draw(st.integers(0, 15))
    target = draw(st.sampled_from(ids))
    if kind < 12:
        return draw(st.sampled_from((f"test: '{target}'", f"'{target}'", f"id: '{target}'")))
    if kind < 14:
        return f"sls: {draw(st.sampled_from((*SLS, '*', 'w*')))}"
    if kind < 15:
        return f"test: {draw(odd_scalars)}"
    return draw(odd_scalars)


@st.composite
def states(draw, id, ids=IDS):
    """The lines of one declaration, by an ID; its requisites name some of ``ids``."""
    lines = [f"{id}:"]
    some = st.sampled_from(FUNCTIONS[:5]) | st.sampled_from(FUNCTIONS[:5]) | st.sampled_from(FUNCTIONS)
    for function in draw(st.lists(some, min_size=1, max_size=2, unique_by=lambda name: name.partition(".")[0])):
        if draw(st.integers(0, 9)) == 0:
            lines[0] = f"{id}: {function}"
            break
        lines.append(f"  {function}:")
        for _ in range(draw(st.integers(0, 4))):
            if draw(st.booleans()):
                name = draw(st.sampled_from(_NAMES))
                lines.append(f"    - {name}: {draw(values(name))}")
            else:
                lines.append(f"    - {draw(st.sampled_from(KINDS))}:")
                lines += [f"      - {draw(references(ids))}" for _ in range(draw(st.integers(0, 3)))]
    return lines


_EXPRESSIONS = (
    "pillar",
    "grains",
    "opts",
    "salt",
    "sls",
    "x",
    "undefined_name",
    "1 // 0",
    "1 % 0",
    "'a' * 10 ** 6",
    "10 ** 5000",
    "2 ** 64",
    "-1",
    "'é\U0001f600'",
    "''",
    "[]",
    "{}",
    "[1, [2, [3]]]",
    "{'a': {'b': 1}}",
    "none",
    "range(10)",
    "range(100000)",
    "loop",
    "self",
    "caller",
    "namespace(a=1)",
    "cycler(1, 2)",
    "joiner()",
    "lipsum()",
    "show_full_context()",
    "salt['test.echo']('x')",
    "salt['test.echo'](salt)",
    "salt['pillar.get']('a:b', {})",
    "salt['grains.get']('os', [])",
    "salt['config.get']('a')",
    "salt['no.such']()",
    "salt.test.ping()",
    "salt['match.glob']('*')",
    "salt['slsutil.renderer'](string='{{ 1 }}')",
    "salt['jinja.load_map']('other.sls', 'x')",
    "salt['file.dirname']('/a/b')",
    "().__class__.__mro__",
    "''.format.__globals__",
    "pillar.a.b",
    "pillar['a']['b']",
    "grains['os']|lower",
    "m(3)",
    "m",
    "x.y.z",
    "x()",
    "true and not false",
    "1 if x else 2",
    "[1,2,3][::-1]",
    "'%s%d' % (1, 'a')",
    "1 ~ 2 ~ [3]",
    "1 + 'a'",
    "1 is divisibleby 0",
    "x is no_such_test",
    "x is defined",
)
_FILTERS = (
    "json",
    "yaml",
    "python",
    "load_yaml",
    "load_json",
    "tojson",
    "list",
    "sort",
    "unique",
    "length",
    "first",
    "last",
    "max",
    "min",
    "sum",
    "join(',')",
    "map('upper')",
    "map(attribute='a')",
    "select('defined')",
    "selectattr('a')",
    "groupby('a')",
    "batch(2)",
    "slice(0)",
    "int",
    "float",
    "string",
    "upper",
    "replace('a', 'b')",
    "regex_replace('a', 'b')",
    "regex_search('(')",
    "regex_match('(.*)')",
    "random",
    "round(-400)",
    "filesizeformat",
    "xmlattr",
    "urlize",
    "wordwrap(0)",
    "truncate(-1)",
    "indent(-1)",
    "center(1000)",
    "sequence",
    "yaml_encode",
    "yaml_dquote",
    "yaml_squote",
    "base64_encode",
    "base64_decode",
    "md5",
    "sha256",
    "to_bool",
    "strftime('%s')",
    "is_ip",
    "ipaddr",
    "network_hosts",
    "ip_host",
    "network_size",
    "path_join('a')",
    "which",
    "avg",
    "union([1])",
    "intersect([1])",
    "difference([1])",
    "symmetric_difference([1])",
    "flatten",
    "combinations(2)",
    "permutations(2)",
    "product([1])",
    "traverse('a:b')",
    "json_query('a')",
    "tojson(indent=2)",
    "uuid",
    "gpg",
    "xml",
    "dict_to_sls_yaml_params",
    "combine_dicts",
    "no_such_filter",
    "exactly_n_true(1)",
    "to_num",
    "method_call('upper')",
    "human_to_bytes",
    "check_whitelist_blacklist",
    "list_files",
    "file_hashsum",
    "regex_escape",
    "items",
    "dictsort",
    "pprint",
    "attr('x')",
    "default(1)",
    "format(1)",
)


@st.composite
def expressions(draw):
    """A Jinja expression, with filters."""
    text = draw(st.sampled_from(_EXPRESSIONS))
    for _ in range(draw(st.integers(0, 3))):
        text = f"({text})|{draw(st.sampled_from(_FILTERS))}"
    return text


@st.composite
def templates(draw, lines):
    """Lines of YAML with Jinja around and in them."""
    lines = list(lines)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(lines)))
        text = draw(expressions())
        name = draw(st.sampled_from((*SLS, "map.jinja", "gone.jinja", "../x", "/etc/passwd", "")))
        kind = draw(st.integers(0, 15))
        if kind < 3:
            lines.insert(at, f"{{% set x = {text} %}}")
        elif kind < 6:
            lines.insert(at, f"{{{{ {text} }}}}")
        elif kind == 6 and at < len(lines):
            lines[at] = f"{lines[at]} {{{{ {text} }}}}"
        elif kind == 7:
            start, end = (
                ("{% for x in " + text + " %}", "{% endfor %}")
                if draw(st.booleans())
                else ("{% if " + text + " %}", "{% else %}\n{% endif %}")
            )
            lines = [*lines[:at], start, *lines[at:], end]
        elif kind == 8:
            call = draw(st.sampled_from(("", "{{ m(3) }}", "{{ m() }}", "{% call m(2) %}{% endcall %}")))
            inner = draw(
                st.sampled_from(("{{ x }}", "{{ m(x) }}", "{% if x > 0 %}{{ m(x - 1) }}{{ m(x - 1) }}{% endif %}"))
            )
            lines = [f"{{% macro m(x=1) %}}{inner}{{% endmacro %}}", *lines, call]
        elif kind == 9:
            how = draw(
                st.sampled_from(("include '{}'", "import '{}' as m", "from '{}' import m with context", "extends '{}'"))
            )
            lines.insert(at, "{% " + how.format(draw(st.sampled_from((f"{name}.sls", name)))) + " %}")
        elif kind == 10:
            how = draw(st.sampled_from(("import_yaml", "import_json", "import_text", "load_yaml")))
            end = "{% endload %}" if how == "load_yaml" else ""
            what = "as x" if end else f"'{name}.sls' as x"
            lines = [f"{{% {how} {what} %}}", *lines, end]
        elif kind == 11:
            lines.insert(
                at, draw(st.sampled_from(("{%", "%}", "{{", "}}", "{#", "{% endfor %}", "{% else %}", "{% nope %}")))
            )
        elif kind == 12:
            lines.insert(
                at,
                draw(st.sampled_from(("{% do x %}", "{% break %}", "{% continue %}", "{% block b %}{% endblock %}"))),
            )
        elif kind == 13:
            lines.insert(
                0, "#jinja2: " + draw(st.sampled_from(("trim_blocks: True", "x: [", "", "line_statement_prefix: '%'")))
            )
    return lines


_ERRANT = (
    "\x00",
    "\ufeff",
    "\r\n",
    "\r",
    "\t",
    " ",
    "\n",
    ":",
    "-",
    "{",
    "}",
    "[",
    "]",
    "'",
    '"',
    "#",
    "&",
    "*",
    "!",
    "|",
)
_ERRANT += (
    ">",
    "%",
    "@",
    "`",
    "\udcff",
    "\udc80",
    "\u2028",
    "\u202e",
    "\x1b[31m",
    "{{",
    "%}",
    "{%",
    "---\n",
    "...\n",
    "? ",
    "<<",
)


@st.composite
def spoiled(draw, text):
    """The text, at times with a few places of it spoiled."""
    for _ in range(max(0, draw(st.integers(-6, 3)))):
        at = draw(st.integers(0, max(0, min(len(text), 3000))))
        kind = draw(st.integers(0, 7))
        if kind < 3:
            text = text[:at] + draw(st.sampled_from(_ERRANT)) + text[at:]
        elif kind == 3:
            text = text[:at] + text[at + draw(st.integers(1, 20)) :]
        elif kind == 4:
            text = text[:at]
        elif kind == 5:
            lines = text.splitlines(keepends=True)
            if lines:
                at = draw(st.integers(0, len(lines) - 1))
                lines.insert(draw(st.integers(0, len(lines))), lines[at])
                text = "".join(lines)
        elif kind == 6:
            text = text.replace("\n", draw(st.sampled_from(("\r\n", "\r", "\n\n", "\n ", "\n\t"))))
        else:
            text = (
                draw(
                    st.sampled_from(("\ufeff", "\udcff\udcfe", "#!", "#!yaml\n", "#!jinja\n", "#!py\n", "%YAML 9.9\n"))
                )
                + text
            )
    return text


@st.composite
def sls_files(draw):
    """The text of one SLS."""
    lines: list[str] = []
    if draw(st.integers(0, 3)) == 0:
        lines.append("include:")
        good = st.sampled_from(SLS)
        named = good | good | st.sampled_from((".other", "..x", "gone", "*", "base: web")) | odd_scalars
        lines += [f"  - {name}" for name in draw(st.lists(named, max_size=2))]
    ids = draw(st.lists(st.sampled_from(IDS), max_size=4, unique=True)) or ["a"]
    for name in ids:
        shown = f"'{name}'" if draw(st.integers(0, 30)) else draw(odd_scalars)
        lines += draw(states(shown, ids))
    if draw(st.integers(0, 4)) == 0:
        lines += ["extend:", *(f"  {line}" for line in draw(states(f"'{draw(st.sampled_from(IDS))}'")))]
    if draw(st.integers(0, 6)) == 0:
        lines += ["exclude:", f"  - {draw(st.sampled_from(('id: a', 'sls: web', 'a', 'sls: w*')) | odd_scalars)}"]
    if draw(st.booleans()):
        lines = draw(templates(lines))
    return draw(spoiled("\n".join(lines) + "\n"))
