# The top file: which machine gets which SLS files. `asyncstate apply` without names applies all of them: the highstate.

base:                 # the environment; most trees have only this one
  '*':                # every machine; 'web*' would be those whose id begins with web
    - hello           # salt/hello/init.sls, or salt/hello.sls
