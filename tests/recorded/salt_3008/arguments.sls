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
get_item: {probe.run: [{onlyif: [{fun: test.echo, args: [['', a]], get_return: '1'}]}]}
get_key_in_item: {probe.run: [{onlyif: [{fun: test.echo, args: [[{k: a}]], get_return: 'k'}]}]}
get_number: {probe.run: [{onlyif: [{fun: test.echo, args: [{5: a}], get_return: '5'}]}]}
get_item_of_tuple: {probe.run: [{onlyif: [{fun: test.arg, args: [1], get_return: 'args:0'}]}]}
get_item_of_text: {probe.run: [{onlyif: [{fun: test.echo, args: [ab], get_return: '0'}]}]}
check_good: {probe.run: [{result: false}, {check_cmd: 'true'}]}
check_bad: {probe.run: [{check_cmd: ['true', 'false']}, {changes: {a: 1}}]}
check_named: {module.run: [{test.true: []}, {check_cmd: 'true'}]}
check_skipped: {probe.run: [{onlyif: 'false'}, {check_cmd: 'true'}]}
retry: {probe.run: [{result: false}, {retry: {attempts: 3, interval: 0}}]}
retry_not_needed: {probe.run: [{retry: {attempts: 3, interval: 0}}]}
names: {probe.run: [{names: [n1, {n2: [{comment: second}, {order: 1}]}, n1]}]}
no_log: {probe.run: [{no_log: true}, {comment: secret}, {changes: {a: secret, b: 0, c: [secret]}}]}
slot: {probe.run: [{comment: '__slot__:salt:test.echo(hi)'}]}
slot_item_of_tuple: {probe.run: [{changes: {a: '__slot__:salt:test.arg(one).args.0'}}]}
slot_keyword: {probe.run: [{comment: '__slot__:salt:test.arg(a=one).kwargs.a'}]}
watch_skipped: {probe.run: [{onlyif: 'false'}, {watch: [{probe: check_bad}]}]}
watch_failed: {probe.run: [{result: false}, {watch: [{probe: check_bad}]}]}
watch_own: {probe.run: [{changes: {b: 1}}, {watch: [{probe: check_bad}]}]}
gone: probe.nothing
none_such: nothing.run
missing: {file.managed: []}
umask: {probe.run: [{umask: zz}]}
listed: {test.configurable_test_state: [{changes: false}, {comment: [one, two]}]}
notified: {test.show_notification: [{text: [a, b]}]}
