{# no states #}
