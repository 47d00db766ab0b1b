"""Do a paper's experiments again: a folder of pictures comes in, its tables and figures go out."""
