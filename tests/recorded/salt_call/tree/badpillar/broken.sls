a: {{ nothing.at.all }}
