# Which chunks mod_aggregate is given: those of its group, not all of the run.
first: {test.nop: []}
one: {grouped.told: [{aggregate: true}]}
two: {grouped.told: [{aggregate: true}]}
between: {test.nop: []}
alike: {grouped.also: [{aggregate: true}]}
alone: {grouped.told: [{aggregate: false}]}
