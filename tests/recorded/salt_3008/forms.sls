{# References by module, id, name, glob and SLS; use; the _in forms; extend and include. #}
include: [forms_other]
extend:
  other: {probe: [{comment: extended}, {require: [{probe: q}]}]}
q: probe.run
p: {probe.run: [{name: named}]}
by_name: {probe.run: [{require: [{probe: named}]}]}
by_id: {probe.run: [{require: [{id: p}]}]}
by_text: {probe.run: [{require: [q]}]}
by_glob: {probe.run: [{require: [{probe: 'q*'}]}]}
by_sls: {probe.run: [{require: [{sls: forms_other}]}]}
used: {probe.run: [{use: [{probe: other}]}]}
uses: {probe.run: [{use_in: [{probe: receiver}]}, {comment: lent}]}
receiver: probe.run
require_in: {probe.run: [{result: false}, {require_in: [{probe: receiver}]}]}
watch_in: {probe.run: [{changes: {a: 1}}, {watch_in: [{probe: q}]}]}
