{# Chains, several targets, several askers, a failing asker, conditions on the target. #}
a1: {probe.run: [{prereq: [{probe: b1}]}]}
b1: {probe.run: [{prereq: [{probe: c1}]}, {changes: {x: 1}}, {predicted: [null, {x: 1}]}]}
c1: {probe.run: [{changes: {x: 1}}, {predicted: [null, {x: 1}]}]}
a2: {probe.run: [{prereq: [{probe: b2}, {probe: c2}]}]}
b2: probe.run
c2: {probe.run: [{predicted: [null, {}]}]}
a3: {probe.run: [{result: false}, {prereq: [{probe: b3}]}]}
d3: {probe.run: [{prereq: [{probe: b3}]}]}
b3: {probe.run: [{predicted: [null, {x: 1}]}, {changes: {x: 1}}]}
e3: {probe.run: [{require: [{probe: b3}]}]}
a4: {probe.run: [{prereq: [{probe: b4}]}]}
b4: {probe.run: [{predicted: [null, {x: 1}]}, {unless: 'true'}]}
a5: {probe.run: [{prereq: [{probe: b5}]}]}
b5: {probe.run: [{predicted: [true, {x: 1}]}]}
a6: {probe.run: [{prereq: [{probe: b6}]}, {onlyif: 'false'}]}
b6: {probe.run: [{predicted: [null, {x: 1}]}]}
a7: {probe.run: [{prereq: [{probe: b7}]}]}
b7: {probe.run: [{require: [{probe: bad7}]}, {predicted: [null, {x: 1}]}]}
bad7: {probe.run: [{result: false}]}
