{%- set site = pillar['site'] %}

site-folder:
  file.directory:
    - name: {{ site.root }}
    - makedirs: True

{%- for page in site.pages %}

page-{{ page }}:
  file.managed:
    - name: {{ site.root }}/{{ page }}.html
    - source: salt://site/files/page.html.jinja
    - template: jinja
    - context:
        title: {{ page | yaml_dquote }}
    - require:
      - file: site-folder
    - watch_in:
      - cmd: site-index
{%- endfor %}

site-index:
  cmd.wait:
    - name: ls *.html | sort > index.txt
    - cwd: {{ site.root }}
    - require:
      - file: site-folder
