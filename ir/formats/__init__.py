"""One module a file format, each a reader and a writer."""
