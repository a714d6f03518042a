"""Few labels: functions of the samples that have none, too."""
