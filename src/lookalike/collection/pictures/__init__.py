"""Hold pictures: files come in and are described, browsed, filtered, labelled and removed."""
