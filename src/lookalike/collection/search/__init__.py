"""Answer: queries come in, pictures ranked by what was learned go out, with reasons and words."""
