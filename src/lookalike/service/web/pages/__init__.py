"""The HTML pages: requests of people come in; pages and parts of pages go out."""
