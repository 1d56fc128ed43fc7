"""YAML in Salt's dialect: reading, writing, and quoting one value."""
