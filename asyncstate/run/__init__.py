"""Runs a Plan and returns its RunReport.

    Plan ──▶ Machine ──take──▶ WorkerPool ──run_chunk──▶ Dispatch (calls the plugin)
                ▲                  │                        │
                └───────done───────┤◀──────────row──────────┘
                                   └──▶ Recorder ──▶ Announcer ──▶ observers

`Engine` puts these together for one run; `Recorder.report` makes the report of the recorded rows.
"""
