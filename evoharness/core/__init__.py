"""What a turn does, as plain functions over plain data."""
