other: {probe.run: [{comment: plain}]}
excluded: probe.run
exclude: [{id: excluded}]
