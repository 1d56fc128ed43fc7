{# Listeners: once each, after the run, whatever their own state did. #}
l1: {probe.run: [{listen: [{probe: chg}, {probe: chg2}]}]}
l2: {probe.run: [{listen: [{probe: ok}]}]}
l3: {probe.run: [{result: false}, {listen: [{probe: badchg}]}]}
l4: {probe.run: [{names: [x, y]}, {listen: [{probe: chg}]}]}
l5: {probe.run: [{onlyif: 'false'}, {listen: [{probe: chg}]}]}
l6: {test.nop: [{listen: [{probe: chg}]}]}
ok: {probe.run: [{listen_in: [{probe: l1}]}]}
chg: {probe.run: [{changes: {a: 1}}, {listen_in: [{probe: in}]}]}
chg2: {probe.run: [{changes: {a: 1}}]}
badchg: {probe.run: [{result: false}, {changes: {a: 1}}]}
in: probe.run
