# Pillar of the hello states. `asyncstate call pillar.items` prints what this machine gets.

hello:
  greeting: Hello
  folder: @FOLDER@
