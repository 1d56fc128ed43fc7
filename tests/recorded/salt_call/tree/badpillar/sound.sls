sound: of a file that renders
