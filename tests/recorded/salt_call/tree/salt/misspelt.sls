wrong:
  test.no_such_function
