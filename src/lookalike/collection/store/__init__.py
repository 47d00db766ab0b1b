"""Keep on disk: the folder, the database with its tables and its log; it knows no learner."""
