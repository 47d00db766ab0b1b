"""Train: labels and clicks come in, models that passed the publish gate go out."""
