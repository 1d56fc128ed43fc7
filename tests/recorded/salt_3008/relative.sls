{# tpldir, tplfile and tpldot of templates with relative and other names. #}
{% import './places/x.jinja' as relative %}
{% import 'places/x.jinja' as plain %}
{% import 'places/in/a.jinja' as a %}
relative: {probe.run: [{comment: {{ relative.where | json | yaml_dquote }}}]}
plain: {probe.run: [{comment: {{ plain.where | json | yaml_dquote }}}]}
within: {probe.run: [{comment: {{ [a.where, a.beside, a.above] | json | yaml_dquote }}}]}
here: {probe.run: [{comment: {{ [tpldir, tplfile, tpldot] | json | yaml_dquote }}}]}
