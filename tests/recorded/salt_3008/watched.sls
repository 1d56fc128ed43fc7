{# The order of what mod_watch says has changed, and listeners of nothing. #}
w: test.succeed_with_changes
r: test.succeed_with_changes
s: test.succeed_with_changes
f: test.fail_with_changes
plain: {test.nop: [{watch: [w, r, s]}]}
required: {test.nop: [{watch: [w, r, s]}, {require: [s, r]}]}
onchanges: {test.nop: [{watch: [w, r, s]}, {require: [r]}, {onchanges: [s]}]}
any: {test.nop: [{watch: [w, r, s]}, {require_any: [s]}, {require: [r]}]}
later: {test.nop: [{watch: [w, r, s]}, {onfail_any: [f]}, {onchanges: [s]}]}
heard: {test.succeed_with_changes: [{listen: [{test: null}]}]}
told: {test.succeed_with_changes: [{listen_in: [{test: null}]}]}
