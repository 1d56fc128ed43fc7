{# Conditions, check_cmd, retry, names, no_log, and how they meet. #}
onlyif_false: {probe.run: [{onlyif: 'false'}]}
onlyif_list: {probe.run: [{onlyif: ['true', 'true']}]}
unless_true: {probe.run: [{unless: ['true', 'true']}]}
unless_mixed: {probe.run: [{unless: ['true', 'false']}]}
creates: {probe.run: [{creates: /etc}]}
all_three: {probe.run: [{onlyif: 'true'}, {unless: 'true'}, {creates: /nowhere/at/all}]}
fun_true: {probe.run: [{onlyif: [{fun: test.true}]}]}
fun_false: {probe.run: [{onlyif: [{fun: test.false}]}]}
fun_get: {probe.run: [{unless: [{fun: test.arg, args: [1], get_return: 'args'}]}]}
check_good: {probe.run: [{result: false}, {check_cmd: 'true'}]}
check_bad: {probe.run: [{check_cmd: ['true', 'false']}, {changes: {a: 1}}]}
check_named: {module.run: [{test.true: []}, {check_cmd: 'true'}]}
check_skipped: {probe.run: [{onlyif: 'false'}, {check_cmd: 'true'}]}
retry: {probe.run: [{result: false}, {retry: {attempts: 3, interval: 0}}]}
retry_not_needed: {probe.run: [{retry: {attempts: 3, interval: 0}}]}
names: {probe.run: [{names: [n1, {n2: [{comment: second}, {order: 1}]}, n1]}]}
no_log: {probe.run: [{no_log: true}, {comment: secret}, {changes: {a: secret, b: 0, c: [secret]}}]}
slot: {probe.run: [{comment: '__slot__:salt:test.echo(hi)'}]}
watch_skipped: {probe.run: [{onlyif: 'false'}, {watch: [{probe: check_bad}]}]}
watch_failed: {probe.run: [{result: false}, {watch: [{probe: check_bad}]}]}
watch_own: {probe.run: [{changes: {b: 1}}, {watch: [{probe: check_bad}]}]}
gone: probe.nothing
none_such: nothing.run
missing: {file.managed: []}
umask: {probe.run: [{umask: zz}]}
notified: {test.show_notification: [{text: [a, b]}]}
