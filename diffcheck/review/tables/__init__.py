"""The tables of a page, one topic a file. How a table looks is the templates' affair."""
