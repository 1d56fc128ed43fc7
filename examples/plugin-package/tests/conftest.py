pytest_plugins = ["asyncstate.testing"]
