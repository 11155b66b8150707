"""Pictures of measures, drawn with matplotlib."""
