{# Every form of order, pulled forward, pushed back and equal. #}
auto: probe.run
last: {probe.run: [{order: last}]}
first: {probe.run: [{order: first}]}
minus: {probe.run: [{order: -1}]}
float: {probe.run: [{order: 5.5}]}
text: {probe.run: [{order: '3'}]}
late: {probe.run: [{order: 20000}]}
same_b: {probe.run: [{order: 7}]}
same_a: {probe.run: [{order: 7}]}
Same: {probe.run: [{order: 7}]}
a: {probe.run: [{require: [{probe: c1}]}]}
m1: probe.run
c1: {probe.run: [{require: [{probe: c2}]}]}
m2: probe.run
c2: probe.run
z: probe.run
pulls: {probe.run: [{order: -3}, {require: [{probe: z}]}]}
t: probe.run
changed: {probe.run: [{onchanges: [{probe: t}]}]}
failed: {probe.run: [{onfail: [{probe: t}]}, {order: 2}]}
needed: {probe.run: [{require_in: [{probe: early}]}, {order: last}]}
early: {probe.run: [{order: 4}]}
two: {probe.run: [], test.nop: []}
dotted: {probe.run: [], test: [nop]}
