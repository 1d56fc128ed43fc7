# An SLS file says what should be true, not what to do. Apply it twice: the second time nothing changes.
#
# It is rendered by Jinja first, then read as YAML. Two braces print a value; the pillar is in pillar/hello.sls.

{% set folder = pillar['hello']['folder'] %}

hello-folder:                      # the ID: any name, but only once in the whole tree
  file.directory:                  # the state: module.function. `asyncstate doc file.directory` describes it
    - name: {{ folder | yaml_dquote }}
    - mode: '0755'                 # in quotes, or YAML would read some modes as octal numbers

hello-greeting:
  file.managed:
    - name: {{ (folder ~ '/greeting.txt') | yaml_dquote }}
    - source: salt://hello/greeting.txt.jinja     # a path in this tree
    - template: jinja
    - require:                     # a requisite: only after hello-folder, and only if it succeeded
      - file: hello-folder         # more: asyncstate doc require

hello-noticed:
  test.succeed_with_changes:       # stands for what a new greeting should set off, such as a restart
    - onchanges:                   # runs only if the greeting has changed
      - file: hello-greeting

# To install a package and keep its service running, take away the signs and put your own names in. The service is
# restarted when the package changes:
#
# web-package:
#   pkg.installed:
#     - name: nginx
#
# web-service:
#   service.running:
#     - name: nginx
#     - enable: True
#     - watch:
#       - pkg: web-package
