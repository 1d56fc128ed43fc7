"""Users, groups and what belongs to them: made, changed and removed by the system's own tools."""

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKHEqzdvz0pDCpUDFNrZW0HPZYvw0N2h3nCNfGpTJ1cQ"


def test_a_user_with_groups_and_files(debian, prove):
    prove("""
    crew: {group.present: [{gid: 4321}]}
    anne:
      user.present:
        - uid: 4242
        - gid: 4321
        - groups: [crew, games]
        - home: /home/anne
        - shell: /bin/sh
        - fullname: Anne Bonny
        - require: [{group: crew}]
    /home/anne/log: {file.managed: [{user: anne}, {group: crew}, {mode: '0640'}, {contents: ship}]}
    """)
    assert debian.run("getent", "passwd", "anne").strip() == "anne:x:4242:4321:Anne Bonny:/home/anne:/bin/sh"
    assert set(debian.run("id", "-Gn", "anne").split()) == {"crew", "games"}
    assert debian.run("stat", "-c", "%U:%G %a", "/home/anne/log").strip() == "anne:crew 640"


def test_changes_of_an_account(debian, prove):
    debian.run("useradd", "--create-home", "mary")
    rows = prove(
        "mary: {user.present: [{shell: /bin/bash}, {fullname: Mary Read}, {groups: [games]}, {home: /home/mary}]}"
    )
    assert rows["mary"]["changes"]["shell"] == "/bin/bash"
    prove("games: {group.present: [{members: [mary, root]}, {gid: 60}]}")
    assert set(debian.run("getent", "group", "games").strip().rpartition(":")[2].split(",")) == {"mary", "root"}


def test_a_password_is_set_and_shown_nowhere(debian, prove):
    word = "$6$salt$IxDD3jeSOb5eB1CX5LBsqZFVkJdido3OUILO5Ifz5iwMuTS4XMS130MTSuDDl3aCI6WouIL9AjRbLCelDCy.g."
    rows = prove(f"mary: {{user.present: [{{password: '{word}'}}]}}")
    assert debian.read("/etc/shadow").count(word) == 1
    assert word not in str(rows)


def test_gone(debian, prove):
    debian.run("useradd", "--create-home", "mary")
    debian.run("groupadd", "crew")
    prove("mary: {user.absent: [{purge: true}]}\ncrew: group.absent")
    assert not debian.succeeds("id", "mary")
    assert not debian.succeeds("test", "-e", "/home/mary")


def test_a_user_of_a_group_that_is_not_there(debian):
    rows = debian.apply("mary: {user.present: [{gid: nobodys}]}\nother: user.present")
    assert [tag.split("_|-")[1] for tag in rows.failed] == ["mary"]
    assert not debian.succeeds("id", "mary")


def test_many_accounts_at_once(debian, prove):
    names = [f"user{number}" for number in range(20)]
    prove("\n".join(f"{name}: {{user.present: [{{groups: [games]}}]}}" for name in names))
    assert set(debian.run("getent", "group", "games").strip().rpartition(":")[2].split(",")) == set(names)


def test_keys(debian, prove):
    prove(
        f"""
    mary: user.present
    hers: {{ssh_auth.present: [{{user: mary}}, {{names: ['{KEY} mary@ship']}}, {{require: [{{user: mary}}]}}]}}
    """,
        unforetold=frozenset({"hers"}),
    )
    assert debian.run("stat", "-c", "%U %a", "/home/mary/.ssh", "/home/mary/.ssh/authorized_keys").split() == [
        "mary", "700", "mary", "600",
    ]  # fmt: skip
    prove(f"hers: {{ssh_auth.absent: [{{user: mary}}, {{names: ['{KEY}']}}]}}")
    assert KEY not in debian.read("/home/mary/.ssh/authorized_keys")


def test_a_planted_link_is_not_followed(debian):
    debian.run("useradd", "--create-home", "mary")
    debian.run(
        "sh",
        "-c",
        "cp /etc/shadow /etc/secret; mkdir /home/mary/.ssh; ln -s /etc/secret /home/mary/.ssh/authorized_keys",
    )
    debian.run("chown", "-h", "-R", "mary:mary", "/home/mary/.ssh")
    before = debian.read("/etc/secret")
    debian.apply(f"hers: {{ssh_auth.present: [{{user: mary}}, {{names: ['{KEY} mary']}}]}}")
    assert debian.read("/etc/secret") == before
    assert debian.run("stat", "-c", "%U", "/etc/secret").strip() == "root"


def test_cron_tables(debian, prove):
    sls = """
    backup: {cron.present: [{name: /usr/bin/backup --all}, {identifier: backup}, {minute: 5}, {hour: '*/2'}, {user: root}]}
    MAILTO: {cron.env_present: [{value: root@localhost}]}
    """
    prove(sls)
    table = debian.run("crontab", "-l")
    assert "5 */2 * * * /usr/bin/backup --all" in table
    assert "MAILTO=root@localhost" in table
    prove("backup: {cron.absent: [{identifier: backup}]}\nMAILTO: cron.env_absent")
    assert "backup" not in debian.run("crontab", "-l", check=False)
