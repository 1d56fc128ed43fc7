"""Finding missing orders: ``shake`` tries the orders that a plan allows, ``trace`` sees what states touch."""
