# A small web application: folders, a release unpacked from an archive, configuration, a database, and the trigger that
# makes a running server load all of it again.
include:
  - webapp.layout
  - webapp.release
  - webapp.config
  - webapp.database
  - webapp.server
